"""The other process of ``OtherProcess``: reads requests from its input, answers each with one line."""

import json
import sys
from contextlib import ExitStack

from tailrace import connect
from tailrace.errors import DurableStreamError
from tailrace.testing.peers import perform


def main() -> None:
    """Serve until the input ends."""
    with ExitStack() as opened:
        for line in sys.stdin:
            operation, topic, argument = json.loads(line)
            try:
                if operation == "open":
                    client = opened.enter_context(connect(topic))
                elif operation == "leave":
                    opened.close()
                else:
                    perform(client, operation, topic, argument)
            except DurableStreamError as error:
                _say([type(error).__name__, str(error)])
            else:
                _say("ok")


def _say(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
