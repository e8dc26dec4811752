"""Objects in a bucket of an S3-compatible store. Needs the extra ``s3``; the only module that knows the library.

The library was chosen over s3fs: see ``docs/design/workflow.md``.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

try:
    import obstore
    from obstore.exceptions import BaseError
    from obstore.store import S3Store
except ModuleNotFoundError as missing:
    message = f"payloads in S3 need the package {missing.name}: pip install 'tailrace[s3]'"
    raise ModuleNotFoundError(message, name=missing.name) from None

from tailrace import native
from tailrace.errors import InvalidArgumentError
from tailrace.workflow.payloads import places
from tailrace.workflow.payloads.errors import PayloadNotFoundError, PayloadOversizedError, PayloadUnavailableError

if TYPE_CHECKING:
    from obstore.store import S3Config

T = TypeVar("T")

_RETRIES = 2
_RETRIED_FOR = 10.0
_CONNECT_TIMEOUT = 5.0
# Nothing else that answers 404 says so: a bucket that is gone, a proxy, another server at that address.
_NO_SUCH_OBJECT = "NoSuchKey"

# The process in which the library first did something: its threads are in that one only.
_pid: int | None = None


class S3Driver:
    """A bucket, or what is below a prefix in it. Blocking (in a native thread under gevent), thread-safe.

    Credentials come from the environment, as AWS names them. The library does not go through a fork once it was used:
    a child of such a process gets ``PayloadUnavailableError`` from every operation, where it would wait for ever.

    Args:
        bucket: Has to be there.
        prefix: Folders, without slashes at the ends; may be empty.
        endpoint: Of a store that is not AWS, as a URL.
        region: Where the store asks for one.
        timeout: Seconds for one request.
    """

    def __init__(
        self,
        bucket: str,
        prefix: str = "",
        *,
        endpoint: str | None = None,
        region: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        self.base = f"s3://{bucket}/{prefix}/" if prefix else f"s3://{bucket}/"
        place: S3Config = {}
        if endpoint is not None:
            place["endpoint"] = endpoint
        if region is not None:
            place["region"] = region
        self._store = S3Store(
            bucket,
            prefix=prefix or None,
            config=place,
            client_options={
                "allow_http": endpoint is not None and endpoint.startswith("http://"),
                "timeout": timedelta(seconds=timeout),
                "connect_timeout": timedelta(seconds=min(timeout, _CONNECT_TIMEOUT)),
            },
            retry_config={"max_retries": _RETRIES, "retry_timeout": timedelta(seconds=_RETRIED_FOR)},
        )

    def __repr__(self) -> str:
        return f"<S3Driver {self.base}>"

    def put(self, uri: str, content: bytes) -> None:
        """See ``PayloadDriver.put``."""
        path = self._path(uri)
        # In one request: the parts of an upload that was cut off would stay, and cost, without anybody seeing them.
        _run(lambda: obstore.put(self._store, path, content, use_multipart=False))

    def get(self, uri: str, limit: int) -> bytes:
        """See ``PayloadDriver.get``."""
        path = self._path(uri)
        return _run(lambda: self._get(path, limit))

    def delete(self, uri: str) -> None:
        """See ``PayloadDriver.delete``."""
        path = self._path(uri)
        with contextlib.suppress(PayloadNotFoundError):
            _run(lambda: obstore.delete(self._store, path))

    def exists(self, uri: str) -> bool:
        """See ``PayloadDriver.exists``."""
        path = self._path(uri)
        try:
            _run(lambda: self._look(path))
        except PayloadNotFoundError:
            return False
        return True

    def close(self) -> None:
        """See ``PayloadDriver.close``. The library closes connections when it likes."""

    def _get(self, path: str, limit: int) -> bytes:
        found = obstore.get(self._store, path)
        if found.meta["size"] > limit:
            raise PayloadOversizedError(found.meta["size"], limit)
        return found.bytes().to_bytes()

    def _look(self, path: str) -> None:
        try:
            obstore.head(self._store, path)
        except FileNotFoundError:
            # That answer has no body; another one says whether it is the object that is not there, or the bucket.
            obstore.get(self._store, path)

    def _path(self, uri: str) -> str:
        segments = places.segments(self.base, uri)
        if segments is None:
            raise InvalidArgumentError("this is no address in this storage")
        return "/".join(segments)


def _run(work: Callable[[], T]) -> T:
    global _pid
    if _pid is None:
        _pid = os.getpid()
    if _pid != os.getpid():
        raise PayloadUnavailableError("this process was forked from one that has used S3: open the storage after forks")
    with _told():
        return native.call(work)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as exc:
        if _NO_SUCH_OBJECT in str(exc):
            raise PayloadNotFoundError("the object is not in the storage") from exc
        raise PayloadUnavailableError("the bucket of the storage is not there") from exc
    except (BaseError, OSError) as exc:
        raise PayloadUnavailableError(f"the storage can not be used ({type(exc).__name__})") from exc
