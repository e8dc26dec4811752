"""Opening a storage by its URL: ``file:///dir`` or ``s3://bucket/prefix?endpoint=...&region=...``."""

import re
from pathlib import Path

from tailrace.errors import InvalidArgumentError
from tailrace.options import StoreURL, parse_url
from tailrace.workflow.payloads.drivers import PayloadDriver
from tailrace.workflow.payloads.local import LocalDriver

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"[A-Za-z0-9_=-][A-Za-z0-9._=-]*(/[A-Za-z0-9_=-][A-Za-z0-9._=-]*)*")
_S3_SETTINGS = {"endpoint", "region"}


def open_driver(url: str) -> PayloadDriver:
    """Open the storage of payloads that a URL names. Credentials of S3 come from the environment, never from here.

    Raises:
        InvalidArgumentError: There is no such storage, or a setting is unknown.
        PayloadUnavailableError: The directory can not be used. A bucket is not asked for before it is needed.
        ModuleNotFoundError: The extra that it needs is not installed.
    """
    parsed = parse_url(url)
    match parsed.scheme:
        case "file":
            return _open_local(parsed)
        case "s3":
            return _open_s3(parsed)
    raise InvalidArgumentError("payloads are stored in file:///dir or s3://bucket/prefix")


def _open_local(url: StoreURL) -> PayloadDriver:
    _check_settings(url, set())
    if not url.location.startswith("/"):
        raise InvalidArgumentError("a directory of payloads has an absolute path: file:///var/lib/payloads")
    return LocalDriver(Path(url.location))


def _open_s3(url: StoreURL) -> PayloadDriver:
    _check_settings(url, _S3_SETTINGS)
    bucket, _, prefix = url.location.partition("/")
    prefix = prefix.removesuffix("/")
    if "@" in bucket:
        raise InvalidArgumentError("credentials of S3 come from the environment: AWS_ACCESS_KEY_ID and so on")
    if not _BUCKET.fullmatch(bucket):
        raise InvalidArgumentError("a bucket of S3 has 3 to 63 lower-case letters, digits, dots and hyphens")
    if prefix and not _PREFIX.fullmatch(prefix):
        raise InvalidArgumentError("a prefix has letters, digits, dots, hyphens, underscores, and slashes in between")
    from tailrace.workflow.payloads.s3 import S3Driver

    return S3Driver(bucket, prefix, endpoint=url.query.get("endpoint"), region=url.query.get("region"))


def _check_settings(url: StoreURL, known: set[str]) -> None:
    unknown = sorted(url.query.keys() - known)
    if unknown:
        raise InvalidArgumentError(f"unknown settings of a storage of payloads: {', '.join(unknown)}")
