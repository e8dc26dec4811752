"""What hears of a signal besides the server: first, once, and no longer than it wants to."""

import signal
import threading
from collections.abc import Iterator

import pytest

from tailrace.integrations.signals import heard


@pytest.fixture
def server() -> Iterator[list[str]]:
    """What the server's own handler and ours have heard, in order."""
    told: list[str] = []
    before = signal.signal(signal.SIGTERM, lambda *_: told.append("server"))
    yield told
    signal.signal(signal.SIGTERM, before)


def test_a_signal_is_heard_before_the_server_hears_it(server: list[str]) -> None:
    with heard(lambda: server.append("streams")):
        signal.raise_signal(signal.SIGTERM)
    assert server == ["streams", "server"]


def test_afterwards_the_server_has_its_handler_back(server: list[str]) -> None:
    handler = signal.getsignal(signal.SIGTERM)
    with heard(lambda: server.append("streams")):
        assert signal.getsignal(signal.SIGTERM) is not handler
    assert signal.getsignal(signal.SIGTERM) is handler


@pytest.mark.parametrize("default", [signal.SIG_DFL, signal.SIG_IGN])
def test_a_signal_that_python_does_not_handle_is_left_alone(server: list[str], default: signal.Handlers) -> None:
    signal.signal(signal.SIGTERM, default)
    with heard(lambda: server.append("streams")):
        assert signal.getsignal(signal.SIGTERM) is default


def test_in_another_thread_nothing_is_done(server: list[str]) -> None:
    handler, found = signal.getsignal(signal.SIGTERM), []

    def elsewhere() -> None:
        with heard(lambda: server.append("streams")):
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join(30)
    assert found == [handler]
