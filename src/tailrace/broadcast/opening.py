"""What ``connect`` does in both colours: from a URL and options to a hub."""

from tailrace.broadcast.errors import BroadcastUnavailableError
from tailrace.broadcast.hub import Hub
from tailrace.broadcast.options import ConnectOptions, read_options
from tailrace.errors import DurableStreamUnavailableError
from tailrace.options import parse_url
from tailrace.spi import open_broadcast


def open_hub(url: str, given: ConnectOptions) -> Hub:
    """Open the channel that a URL names. Blocks on the server; starts no thread.

    Raises:
        InvalidArgumentError: The URL or an option is wrong.
        BroadcastUnavailableError: The server is away, or can not be used.
    """
    options = read_options(given)
    try:
        carrier = open_broadcast(parse_url(url), options.confirm_timeout)
    except DurableStreamUnavailableError as exc:
        raise BroadcastUnavailableError(str(exc)) from exc
    return Hub(carrier, options)
