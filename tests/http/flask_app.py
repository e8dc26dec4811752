"""A Flask application under gunicorn: it streams orders, and tells how many streams are open."""

import os
import threading

import flask

import tailrace
from tailrace.integrations.wsgi import EventStreams
from tailrace.sse import StreamSettings
from tailrace.tokens import KeyRing, Tokens

app = flask.Flask(__name__)
streams = tailrace.connect(os.environ["TEST_STORE"])
tokens = Tokens(KeyRing.from_environment(), audience="tests")
events = EventStreams(StreamSettings(heartbeat=0.5, retry=0.2))


@app.get("/orders/<order>/events")
def order_events(order: str) -> flask.Response:
    """Stream an order."""
    stream = events.events(
        flask.request.environ,
        streams.topic(f"order:{order}"),
        tokens,
        start=flask.request.args.get("start", "tail"),
        cursor=flask.request.args.get("cursor"),
    )
    return flask.Response(stream, status=stream.status, headers=stream.headers)


@app.errorhandler(tailrace.InvalidTokenError)
def bad_token(error: Exception) -> tuple[str, int]:
    """Refuse it."""
    return str(error), 400


@app.get("/open")
def still_open() -> dict[str, int]:
    """Tell what is held."""
    return {
        "streams": events.count,
        "subscriptions": int(streams.stats()["subscriptions"] or 0),
        "threads": threading.active_count(),
        "sockets": sum(_is_socket(name) for name in os.listdir("/proc/self/fd")),  # noqa: PTH208 - only names
    }


def _is_socket(name: str) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{name}").startswith("socket:")  # noqa: PTH115 - as above
    except OSError:
        return False
