"""A bucket as a storage of payloads, on a real server that speaks S3, with a proxy in between that breaks it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from durable_workflow.external_storage import S3ExternalStorage, store_external_payload
from tests.forks.children import child, ended_well
from tests.workflow.payloads.driver_contract import ID, LIMIT, DriverContract, Storage
from tests.workflow.payloads.scene import Scene, items
from typing_extensions import override

from tailrace.testing.faults.proxy import FlakyProxy
from tailrace.testing.servers.s3 import S3Server
from tailrace.workflow.payloads import (
    Digest,
    DirectReference,
    PayloadDriver,
    PayloadNotFoundError,
    PayloadUnavailableError,
    open_driver,
)
from tailrace.workflow.payloads.places import address
from tailrace.workflow.payloads.s3 import S3Driver

PREFIX = "apps/one"


class Bucket(Storage):
    def __init__(self, name: str, server: S3Server, without_it: S3Server) -> None:
        self._name = name
        self._server = server
        self._without_it = without_it
        self.proxy = FlakyProxy(server.address)

    @property
    def url(self) -> str:
        return f"s3://{self._name}/{PREFIX}?endpoint=http://127.0.0.1:{self.proxy.port}&region=us-east-1"

    @override
    def open(self) -> PayloadDriver:
        return open_driver(self.url)

    @override
    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        self.proxy.refuse()
        yield
        self.proxy.accept()

    @override
    @contextlib.contextmanager
    def replaced(self) -> Iterator[None]:
        self.proxy.lead(self._without_it.address)
        yield
        self.proxy.lead(self._server.address)

    def close(self) -> None:
        self.proxy.close()


@pytest.fixture(scope="module")
def without_buckets() -> Iterator[S3Server]:
    with S3Server() as server:
        yield server


@pytest.fixture
def storage(s3: S3Server, without_buckets: S3Server, bucket: str) -> Iterator[Bucket]:
    made = Bucket(bucket, s3, without_buckets)
    yield made
    made.close()


class TestS3(DriverContract):
    pass


@pytest.fixture
def driver(storage: Bucket) -> PayloadDriver:
    return storage.open()


@pytest.fixture
def uri(driver: PayloadDriver) -> str:
    return address(driver.base, "default", ID)


def test_objects_are_in_the_folder_of_their_namespace_under_the_prefix(
    s3: S3Server, bucket: str, driver: PayloadDriver, uri: str
) -> None:
    driver.put(uri, b"x")

    assert uri == f"s3://{bucket}/{PREFIX}/default/{ID}"
    assert open_driver(f"s3://{bucket}?endpoint={s3.endpoint}").get(uri, LIMIT) == b"x"


def test_a_bucket_needs_no_prefix(s3: S3Server, bucket: str) -> None:
    driver = open_driver(f"s3://{bucket}?endpoint={s3.endpoint}")
    uri = address(driver.base, "default", ID)

    driver.put(uri, b"x")

    assert uri == f"s3://{bucket}/default/{ID}"
    assert driver.get(uri, LIMIT) == b"x"


def test_an_answer_that_is_lost_is_asked_for_again(storage: Bucket, driver: PayloadDriver, uri: str) -> None:
    driver.put(uri, b"x")
    storage.proxy.drop_reply(lambda sent: sent.startswith(b"GET"))

    assert driver.get(uri, LIMIT) == b"x"


def test_a_server_that_hangs_is_unavailable_in_time(s3: S3Server, storage: Bucket, bucket: str, uri: str) -> None:
    driver = S3Driver(bucket, PREFIX, endpoint=f"http://127.0.0.1:{storage.proxy.port}", timeout=0.5)
    driver.put(uri, b"x")

    storage.proxy.stall()
    with pytest.raises(PayloadUnavailableError):
        driver.get(uri, LIMIT)
    with pytest.raises(PayloadUnavailableError):
        driver.put(uri, b"y")
    storage.proxy.flow()

    assert driver.exists(uri)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_of_a_process_that_has_used_it_is_refused_and_never_hangs(driver: PayloadDriver, uri: str) -> None:
    driver.put(uri, b"x")

    def use() -> None:
        for _ in range(2):
            with pytest.raises(PayloadUnavailableError, match="forked"):
                driver.get(uri, LIMIT)
            with pytest.raises(PayloadUnavailableError, match="forked"):
                driver.put(uri, b"y")

    assert ended_well(child(use))
    assert driver.get(uri, LIMIT) == b"x"


def test_payloads_of_streams_live_and_end_in_a_bucket(
    s3: S3Server, bucket: str, driver: PayloadDriver, tmp_path: Path
) -> None:
    scene = Scene(f"sqlite:///{tmp_path}/runs.db", tmp_path)
    service = scene.open(driver)
    uploaded = service.payloads.upload("default", Digest.of(b"payload"), b"payload")
    # As the published client stores its own, beside it.
    client = boto3.client("s3", endpoint_url=s3.endpoint, region_name="us-east-1")
    stored = store_external_payload(
        S3ExternalStorage(client, bucket=bucket, prefix=f"{PREFIX}/default"), b"direct", codec="avro"
    )
    direct = DirectReference.parse(stored.to_dict())
    stream = scene.stream("s")

    service.append(stream, items(uploaded, direct))

    assert service.payloads.fetch("default", uploaded.reference_id) == (uploaded, b"payload")
    assert scene.states == [2, 2]
    scene.age()
    scene.expire(stream)
    assert service.sweep().payloads == 2
    assert client.list_objects_v2(Bucket=bucket)["KeyCount"] == 0
    scene.close()
    client.close()


@pytest.mark.long
def test_a_server_that_comes_back_without_the_bucket_has_lost_nothing_that_it_admits(credentials: None) -> None:
    with S3Server() as server:
        server.make_bucket("payloads")
        driver = open_driver(f"s3://payloads?endpoint={server.endpoint}")
        uri = address(driver.base, "default", ID)
        driver.put(uri, b"x")

        server.stop()
        with pytest.raises(PayloadUnavailableError):
            driver.get(uri, LIMIT)
        server.start()
        with pytest.raises(PayloadUnavailableError):
            driver.get(uri, LIMIT)

        server.make_bucket("payloads")
        with pytest.raises(PayloadNotFoundError):
            driver.get(uri, LIMIT)
        driver.put(uri, b"y")
        assert driver.get(uri, LIMIT) == b"y"
