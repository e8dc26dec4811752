"""A server process: ``python replica.py PORT STORE KEYS SETTINGS``, the last one in JSON. Ends as ``serve`` does."""

import json
import sys
from pathlib import Path

from tailrace.opening import open_backend
from tailrace.server import Application, ServerSettings, listening, process
from tailrace.tokens import KeyRing


def main(port: str, store: str, keys: str, settings: str) -> None:
    backend, options = open_backend(store, {})
    application = Application(
        backend, KeyRing.from_file(Path(keys)), settings=ServerSettings(**json.loads(settings)), options=options
    )
    with listening.listen("127.0.0.1", int(port)) as listener:
        process.serve(application, application, listener, grace=10)


if __name__ == "__main__":
    main(*sys.argv[1:])
