"""What every storage of payloads does, whatever it is made of. Its test file says how it is opened and how it fails."""

import threading
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager

import pytest

from tailrace.errors import InvalidArgumentError
from tailrace.workflow.payloads import PayloadDriver, PayloadNotFoundError, PayloadUnavailableError
from tailrace.workflow.payloads.errors import PayloadOversizedError
from tailrace.workflow.payloads.places import address

ID = "ep_" + "0123456789ABCDEFGHJKMNPQRS"
LIMIT = 2**20


class Storage(ABC):
    """A storage under test."""

    @abstractmethod
    def open(self) -> PayloadDriver:
        """Return a driver of it, each time another one."""

    @abstractmethod
    def away(self) -> AbstractContextManager[None]:
        """Make it fail for a while, for a reason that operators know."""

    @abstractmethod
    def replaced(self) -> AbstractContextManager[None]:
        """Put an empty one in its place for a while, as a missing mount does, or a bucket that was removed."""


class DriverContract:
    """The cases. A test file has a fixture ``storage`` and derives from this."""

    @pytest.fixture
    def driver(self, storage: Storage) -> PayloadDriver:
        return storage.open()

    @pytest.fixture
    def uri(self, driver: PayloadDriver) -> str:
        return address(driver.base, "default", ID)

    @pytest.mark.parametrize("size", [0, 1, 65_536, LIMIT])
    def test_what_was_put_comes_back_byte_for_byte(self, driver: PayloadDriver, uri: str, size: int) -> None:
        content = bytes(range(256)) * (size // 256) + bytes(size % 256)

        driver.put(uri, content)

        assert driver.get(uri, LIMIT) == content

    def test_every_driver_of_one_storage_has_the_same_objects(self, storage: Storage, uri: str) -> None:
        storage.open().put(uri, b"once")

        assert storage.open().get(uri, LIMIT) == b"once"

    def test_the_same_id_in_another_namespace_is_another_object(self, driver: PayloadDriver, uri: str) -> None:
        others = [address(driver.base, name, ID) for name in ("other", "a/b", "..", "", "ä", "n" * 128, "=2e")]
        driver.put(uri, b"default")

        for number, other in enumerate(others):
            assert not driver.exists(other)
            driver.put(other, b"%d" % number)

        assert [driver.get(other, LIMIT) for other in others] == [b"%d" % number for number in range(len(others))]
        assert driver.get(uri, LIMIT) == b"default"

    def test_a_second_put_takes_the_place_of_the_first(self, driver: PayloadDriver, uri: str) -> None:
        driver.put(uri, b"a longer one")
        driver.put(uri, b"shorter")

        assert driver.get(uri, LIMIT) == b"shorter"

    def test_an_object_that_is_not_there_is_told_so(self, driver: PayloadDriver, uri: str) -> None:
        driver.put(uri, b"x")

        with pytest.raises(PayloadNotFoundError):
            driver.get(uri + "0", LIMIT)
        with pytest.raises(PayloadNotFoundError):
            driver.get(address(driver.base, "nobody", ID), LIMIT)
        assert not driver.exists(uri + "0")
        assert driver.exists(uri)

    def test_more_bytes_than_wanted_are_refused_and_not_read(self, driver: PayloadDriver, uri: str) -> None:
        driver.put(uri, bytes(100))

        assert len(driver.get(uri, 100)) == 100
        with pytest.raises(PayloadOversizedError) as error:
            driver.get(uri, 99)
        assert error.value.details["limit"] == 99

    def test_a_deleted_object_is_gone_and_deleting_it_again_is_no_error(self, driver: PayloadDriver, uri: str) -> None:
        driver.put(uri, b"x")
        driver.put(uri + "0", b"y")

        driver.delete(uri)
        driver.delete(uri)
        driver.delete(address(driver.base, "nobody", ID))

        assert not driver.exists(uri)
        with pytest.raises(PayloadNotFoundError):
            driver.get(uri, LIMIT)
        assert driver.get(uri + "0", LIMIT) == b"y"

    def test_a_deleted_object_can_be_put_again(self, driver: PayloadDriver, uri: str) -> None:
        driver.put(uri, b"x")
        driver.delete(uri)
        driver.put(uri, b"again")

        assert driver.get(uri, LIMIT) == b"again"

    @pytest.mark.parametrize(
        "path",
        [
            "",
            "default",
            "../default/x",
            "default/../x",
            "default//x",
            "/default/x",
            "default/.x",
            "default/%2e%2e/x",
            "default/x?y",
            "default/x#y",
            "default/x\n",
            "default/x\0",
            "default/ä",
        ],
    )
    def test_an_address_that_is_spelled_otherwise_is_none(self, driver: PayloadDriver, path: str) -> None:
        uri = driver.base + path
        if path == "default":
            uri = "other" + uri

        for use in (driver.exists, driver.delete, lambda uri: driver.put(uri, b"x"), lambda uri: driver.get(uri, 1)):
            with pytest.raises(InvalidArgumentError):
                use(uri)

    def test_a_storage_that_is_away_says_so_and_has_everything_when_it_is_back(
        self, storage: Storage, driver: PayloadDriver, uri: str
    ) -> None:
        driver.put(uri, b"kept")

        with storage.away():
            self.check_unavailable(driver, uri)

        assert driver.exists(uri)
        assert driver.get(uri, LIMIT) == b"kept"
        driver.delete(uri)
        assert not driver.exists(uri)

    def test_an_empty_storage_in_its_place_is_not_taken_for_it(
        self, storage: Storage, driver: PayloadDriver, uri: str
    ) -> None:
        driver.put(uri, b"kept")

        # "Not found" would have rows removed whose objects are still there.
        with storage.replaced():
            self.check_unavailable(driver, uri)

        assert driver.get(uri, LIMIT) == b"kept"

    def test_nobody_ever_sees_half_an_object(self, storage: Storage, driver: PayloadDriver, uri: str) -> None:
        versions = [bytes([number]) * 100_000 for number in range(4)]
        driver.put(uri, versions[0])
        wrong: list[bytes] = []
        done = threading.Event()

        def read() -> None:
            own = storage.open()
            while not done.is_set():
                found = own.get(uri, LIMIT)
                if found not in versions:
                    wrong.append(found[:10])

        def write(version: bytes) -> None:
            own = storage.open()
            for _ in range(5):
                own.put(uri, version)

        reader = threading.Thread(target=read)
        writers = [threading.Thread(target=write, args=(version,)) for version in versions]
        for thread in (reader, *writers):
            thread.start()
        for writer in writers:
            writer.join(60)
        done.set()
        reader.join(60)
        assert not any(thread.is_alive() for thread in (reader, *writers))

        assert wrong == []
        assert driver.get(uri, LIMIT) in versions

    def check_unavailable(self, driver: PayloadDriver, uri: str) -> None:
        for use in (driver.exists, driver.delete, lambda uri: driver.put(uri, b"x"), lambda uri: driver.get(uri, 1)):
            with pytest.raises(PayloadUnavailableError) as error:
                use(uri)
            assert error.value.retryable
            assert uri not in str(error.value)
