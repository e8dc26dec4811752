"""A directory as a storage of payloads."""

import contextlib
import ctypes
import os
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.forks.children import child, ended_well
from tests.workflow.payloads.driver_contract import ID, LIMIT, DriverContract, Storage
from typing_extensions import override

from tailrace.testing.servers.accounts import Account
from tailrace.workflow.payloads import PayloadDriver, PayloadNotFoundError, PayloadUnavailableError, open_driver
from tailrace.workflow.payloads.places import address


class Directory(Storage):
    def __init__(self, folder: Path) -> None:
        self.root = folder / "payloads"

    @override
    def open(self) -> PayloadDriver:
        return open_driver(f"file://{self.root}")

    @override
    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        with self._moved():
            self.root.write_text("a file where the directory was")
            yield
            self.root.unlink()

    @override
    @contextlib.contextmanager
    def replaced(self) -> Iterator[None]:
        with self._moved():
            self.root.mkdir()
            yield
            self.root.rmdir()

    @contextlib.contextmanager
    def _moved(self) -> Iterator[None]:
        aside = self.root.with_name("aside")
        self.root.rename(aside)
        yield
        aside.rename(self.root)


@pytest.fixture
def storage(tmp_path: Path) -> Directory:
    return Directory(tmp_path)


class TestLocal(DriverContract):
    pass


@pytest.fixture
def driver(storage: Directory) -> PayloadDriver:
    return storage.open()


@pytest.fixture
def uri(driver: PayloadDriver) -> str:
    return address(driver.base, "default", ID)


@contextlib.contextmanager
def as_stranger() -> Iterator[None]:
    """Have the kernel ask this thread for its rights on files, which it does not ask root."""
    account = Account.for_servers()
    if account is None:
        yield
        return
    setfsuid = ctypes.CDLL(None).setfsuid
    mine = setfsuid(account.uid)
    try:
        yield
    finally:
        setfsuid(mine)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that strangers reach: those of pytest are its user's only."""
    with tempfile.TemporaryDirectory(prefix="tailrace-payloads-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_directory_without_the_right_to_write_is_unavailable(public: Path) -> None:
    storage = Directory(public)
    driver = storage.open()
    uri = address(driver.base, "default", ID)
    driver.put(uri, b"kept")
    for folder in (storage.root, storage.root / ".parts", storage.root / "default"):
        folder.chmod(0o555)

    with as_stranger():
        assert driver.get(uri, LIMIT) == b"kept"
        with pytest.raises(PayloadUnavailableError):
            driver.put(uri, b"other")
        with pytest.raises(PayloadUnavailableError):
            driver.delete(uri)

    assert driver.get(uri, LIMIT) == b"kept"
    for folder in (storage.root, storage.root / ".parts", storage.root / "default"):
        folder.chmod(0o755)


def test_a_directory_without_the_right_to_read_is_unavailable_and_not_empty(public: Path) -> None:
    storage = Directory(public)
    driver = storage.open()
    uri = address(driver.base, "default", ID)
    driver.put(uri, b"kept")
    (storage.root / "default").chmod(0)

    with as_stranger():
        with pytest.raises(PayloadUnavailableError):
            driver.get(uri, LIMIT)
        with pytest.raises(PayloadUnavailableError):
            driver.exists(uri)

    (storage.root / "default").chmod(0o755)
    assert driver.exists(uri)


def test_a_directory_that_can_not_be_made_is_told_when_it_is_opened(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(PayloadUnavailableError):
        open_driver(f"file://{tmp_path}/file/payloads")


def test_an_object_that_did_not_fit_leaves_the_old_one_and_no_parts(
    storage: Directory, driver: PayloadDriver, uri: str
) -> None:
    driver.put(uri, b"kept")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(PayloadUnavailableError):
            driver.put(uri, bytes(5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert driver.get(uri, LIMIT) == b"kept"
    assert list((storage.root / ".parts").iterdir()) == []


def test_what_a_killed_upload_has_left_goes_with_the_object(
    storage: Directory, driver: PayloadDriver, uri: str
) -> None:
    driver.put(uri, b"x")
    left = storage.root / ".parts" / f"{ID}.0011223344556677"
    left.write_bytes(b"half of")
    other = storage.root / ".parts" / "ep_OTHER.0011223344556677"
    other.write_bytes(b"somebody else's")

    driver.delete(uri)

    assert not left.exists()
    assert other.exists()


def test_a_link_leads_nowhere(storage: Directory, driver: PayloadDriver, uri: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / ID).write_bytes(b"secret")
    folder = storage.root / "default"
    folder.mkdir()
    (folder / ID).symlink_to(outside / ID)
    (storage.root / "linked").symlink_to(outside)

    for place in (uri, address(driver.base, "linked", ID)):
        with pytest.raises(PayloadUnavailableError):
            driver.get(place, LIMIT)
    with pytest.raises(PayloadUnavailableError):
        driver.put(address(driver.base, "linked", ID), b"overwritten")
    with pytest.raises(PayloadUnavailableError):
        driver.delete(address(driver.base, "linked", ID))
    driver.delete(uri)

    assert (outside / ID).read_bytes() == b"secret"


def test_a_pipe_of_that_name_makes_nobody_wait(storage: Directory, driver: PayloadDriver, uri: str) -> None:
    (storage.root / "default").mkdir()
    os.mkfifo(storage.root / "default" / ID)

    with pytest.raises(PayloadUnavailableError):
        driver.get(uri, LIMIT)


def test_the_name_of_a_directory_may_hold_anything(tmp_path: Path) -> None:
    folder = tmp_path / "a b%41ä'"
    folder.mkdir()
    driver = open_driver("file://" + str(folder).replace("%", "%25"))
    uri = address(driver.base, "default", ID)

    driver.put(uri, b"x")

    assert (folder / "default" / ID).read_bytes() == b"x"
    assert uri == (folder / "default" / ID).as_uri()


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_process_goes_on_with_it(driver: PayloadDriver, uri: str) -> None:
    def use() -> None:
        driver.put(uri, b"from the child")
        with pytest.raises(PayloadNotFoundError):
            driver.get(uri + "0", LIMIT)

    assert ended_well(child(use))
    assert driver.get(uri, LIMIT) == b"from the child"
