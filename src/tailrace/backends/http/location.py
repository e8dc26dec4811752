"""What an http:// or https:// URL says: which server, below which path, with which key."""

import os
import re
import ssl
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from tailrace.errors import InvalidArgumentError, StoreUnusableError
from tailrace.options import StoreURL

KEY_VARIABLE = "TAILRACE_KEY"
"""Where the key is found that is not in the URL: a URL is easily printed."""

_PATH = re.compile(r"(/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)*")
_KEY = re.compile(r"[!-~]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """One server, or what stands in front of several.

    Attributes:
        prefix: Of all paths there; empty or with a leading slash.
        key: A credential of the server; empty for none.
        ca: File with the certificates to trust instead of the system's.
    """

    host: str
    port: int
    tls: bool = False
    prefix: str = ""
    key: str = field(default="", repr=False)
    ca: str | None = None

    def __post_init__(self) -> None:
        if not _PATH.fullmatch(self.prefix):
            raise InvalidArgumentError("the path in the URL is not one: percent-encode what is unusual in it")
        if not _KEY.fullmatch(self.key):
            raise InvalidArgumentError("a key consists of printable ASCII characters without spaces")
        if self.ca is not None and not self.tls:
            raise InvalidArgumentError("ca is of use only with https://")

    @property
    def authority(self) -> str:
        """Host and port as they stand in a URL; the port is left out where it goes without saying."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    @property
    def name(self) -> str:
        """For messages; holds no key."""
        return f"the server at {'https' if self.tls else 'http'}://{self.authority}{self.prefix}"

    def context(self) -> ssl.SSLContext | None:
        """Return how to speak TLS; ``None`` for not at all.

        Raises:
            StoreUnusableError: The file of certificates can not be used.
        """
        if not self.tls:
            return None
        try:
            return ssl.create_default_context(cafile=self.ca)
        except (OSError, ValueError) as exc:
            raise StoreUnusableError(f"the file that ca names can not be used [{exc}]") from exc


def locate(url: StoreURL) -> Location:
    """Read a URL; without a key in it, the environment's is taken.

    Raises:
        InvalidArgumentError: It can not be used like this.
    """
    try:
        parsed = urlsplit(url.raw)
        port = parsed.port
    except ValueError as exc:
        raise InvalidArgumentError(f"{url.scheme}:// needs a URL like https://streams.example.com [{exc}]") from exc
    unknown = url.query.keys() - {"ca"}
    if "key" in unknown:
        raise InvalidArgumentError(
            f"a key in the query is easily logged: put it into {KEY_VARIABLE}, or http://:KEY@host"
        )
    if unknown:
        raise InvalidArgumentError(f"{url.scheme}:// has no setting called {min(unknown)}; it knows: ca")
    if not parsed.hostname:
        raise InvalidArgumentError(f"{url.scheme}:// needs a host, as https://streams.example.com has one")
    tls = url.scheme == "https"
    return Location(
        host=parsed.hostname,
        port=port or (443 if tls else 80),
        tls=tls,
        prefix=parsed.path.rstrip("/"),
        key=_key(parsed),
        ca=url.query.get("ca"),
    )


def _key(parsed: SplitResult) -> str:
    if parsed.username:
        raise InvalidArgumentError("a key stands after a colon in the URL, and no user before it: http://:KEY@host")
    return unquote(parsed.password or "") or os.environ.get(KEY_VARIABLE, "")
