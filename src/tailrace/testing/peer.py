"""The other process of ``OtherProcess``: reads requests from its input, answers each with one line."""

import json
import os
import sys

from tailrace import connect
from tailrace.errors import DurableStreamError
from tailrace.testing.peers import STORE_VARIABLE, perform


def main() -> None:
    """Serve until the input ends."""
    with connect(os.environ[STORE_VARIABLE]) as client:
        _say("ok")
        for line in sys.stdin:
            try:
                perform(client, *json.loads(line))
            except DurableStreamError as error:
                _say([type(error).__name__, str(error)])
            else:
                _say("ok")


def _say(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
