"""Seal: irreversible, idempotent, and the only end that a topic has."""

import contextlib
import threading

import pytest

from tailrace import limits, spi
from tailrace.errors import CursorUnavailableError, InvalidArgumentError, InvalidTypeError, TopicSealedError
from tailrace.records import CLOSED
from tailrace.testing.drivers import Topic
from tailrace.testing.fixtures import Connect
from tailrace.testing.outcome import not_run
from tailrace.testing.reading import PATIENCE, Background, drain, fill, nothing, numbered, read_all, refused, take
from tailrace.testing.stores import StoreUnderTest


class TestSeal:
    def test_seal_returns_none_however_often(self, topic: Topic, peer_topic: Topic) -> None:
        for sealing in (topic, topic, peer_topic):
            assert sealing.seal() is None  # type: ignore[func-returns-value]

    def test_no_append_succeeds_afterwards(self, topic: Topic, peer_topic: Topic, store: StoreUnderTest) -> None:
        topic.append(b"last")
        topic.seal()
        for late in (topic, peer_topic, topic.as_producer(), topic):
            with pytest.raises(TopicSealedError) as caught:
                late.append(b"late")
            assert caught.value.maybe_stored is False
        assert store.contents(topic.name) == [b"last"]

    def test_an_append_beside_a_refused_one_is_not_refused(self, topic: Topic, connect: Connect, name: str) -> None:
        client = connect()
        other = client.topic(name + "-open")
        client.topic(name).seal()

        def late() -> None:
            with pytest.raises(TopicSealedError):
                client.topic(name).append(b"late")

        calls = [Background(late if number % 2 else lambda: other.append(b"x")) for number in range(16)]
        for call in calls:
            call.result()
        assert read_all(other.subscribe_from_beginning(), 8) == [b"x"] * 8

    def test_readers_drain_and_get_the_end(self, topic: Topic) -> None:
        cursors = fill(topic, 5)
        topic.seal()
        for subscription, rest in (
            (topic.subscribe_from_beginning(), numbered(5)),
            (topic.subscribe_from_cursor(cursors[2]), numbered(2, 3)),
            (topic.subscribe_from_cursor(cursors[4]), []),
            (topic.subscribe_from_tail(), []),
        ):
            with subscription:
                assert drain(subscription) == rest
                assert subscription.receive(timeout=0) is CLOSED

    def test_a_boundary_fixed_before_the_seal_drains_too(self, topic: Topic) -> None:
        subscription = topic.subscribe_from_tail()
        topic.append_many(numbered(3))
        topic.seal()
        with subscription:
            assert drain(subscription) == numbered(3)

    def test_many_pages_are_drained_before_the_end(self, connect: Connect, name: str) -> None:
        topic = connect(buffer_records=8, page_records=8).topic(name)
        topic.append_many(numbered(500))
        topic.seal()
        with topic.subscribe_from_beginning() as subscription:
            assert drain(subscription) == numbered(500)

    def test_a_slow_live_reader_drains_before_the_end(self, connect: Connect, name: str) -> None:
        topic = connect(buffer_records=8, page_records=8).topic(name)
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            topic.append_many(numbered(100))
            topic.seal()
            assert drain(subscription) == numbered(100)

    def test_a_waiting_reader_is_told_of_a_seal_from_elsewhere(self, topic: Topic, peer_topic: Topic) -> None:
        with topic.subscribe_from_tail() as subscription:
            topic.append(b"x")
            take(subscription, 1)
            waiting = Background(lambda: subscription.receive(timeout=PATIENCE))
            peer_topic.seal()
            assert waiting.result(timeout=5) is CLOSED

    def test_a_reader_that_waits_for_a_topic_to_exist_is_told_of_its_seal(
        self, topic: Topic, peer_topic: Topic
    ) -> None:
        with topic.subscribe_from_tail() as subscription:
            nothing(subscription)
            peer_topic.seal()
            assert drain(subscription) == []

    def test_a_topic_may_be_sealed_before_it_exists(self, topic: Topic, peer_topic: Topic) -> None:
        topic.seal()
        with pytest.raises(TopicSealedError):
            peer_topic.append(b"x")
        with peer_topic.subscribe_from_beginning() as subscription:
            assert drain(subscription) == []

    def test_the_end_says_sealed(self, topic: Topic) -> None:
        topic.append(b"x")
        with topic.subscribe_from_beginning() as subscription:
            take(subscription, 1)
            nothing(subscription)
            assert subscription.end is None
            topic.seal()
            drain(subscription)
        assert subscription.end is not None
        assert (subscription.end.kind, subscription.end.error, subscription.end.exception) == ("sealed", None, None)

    @pytest.mark.parametrize("reason", ["producer lost", " ", "\u00e9\n\U0001f4a5", "x" * limits.MAX_SEAL_ERROR_BYTES])
    def test_a_topic_sealed_as_failed_drains_and_says_why(self, topic: Topic, peer_topic: Topic, reason: str) -> None:
        topic.append_many(numbered(3))
        topic.seal(error=reason)
        with peer_topic.subscribe_from_beginning() as subscription:
            assert drain(subscription) == numbered(3)
        assert subscription.end is not None
        assert (subscription.end.kind, subscription.end.error, subscription.end.exception) == ("failed", reason, None)

    @pytest.mark.parametrize(("first", "second"), [(None, "late"), ("boom", None), ("boom", "late")])
    def test_the_first_seal_stands(
        self, topic: Topic, peer_topic: Topic, first: str | None, second: str | None
    ) -> None:
        topic.seal(error=first)
        peer_topic.seal(error=second)
        with topic.subscribe_from_beginning() as subscription:
            drain(subscription)
        assert subscription.end is not None
        assert subscription.end.error == first

    def test_no_expiry_undoes_a_seal(self, topic: Topic, peer_topic: Topic, store: StoreUnderTest) -> None:
        cursors = fill(topic, 3)
        topic.seal(error="boom")
        store.trim(topic.name, keep=0)
        with pytest.raises(TopicSealedError):
            peer_topic.append(b"late")
        with peer_topic.subscribe_from_cursor(cursors[2]) as subscription:
            assert drain(subscription) == []
        assert subscription.end is not None
        assert subscription.end.error == "boom"

    def test_no_sweep_forgets_a_seal(self, connect: Connect, name: str, store: StoreUnderTest) -> None:
        if not store.disposable:
            not_run("a sweep would touch other topics of this store")
        operator = connect(forget_after=0.01, append_timeout=0.1)
        topic = connect().topic(name)
        topic.append(b"x")
        topic.seal()
        store.trim(name, keep=0)
        threading.Event().wait(0.15)
        operator.maintenance.sweep(spi.SweepBudget())
        with pytest.raises(TopicSealedError):
            topic.append(b"late")

    def test_a_loss_on_a_sealed_topic_is_told_and_not_an_end(self, topic: Topic, store: StoreUnderTest) -> None:
        cursors = fill(topic, 5)
        late = topic.subscribe_from_cursor(cursors[0])
        topic.seal()
        store.trim(topic.name, keep=1)
        refused(topic, cursors[0])
        with pytest.raises(CursorUnavailableError):
            late.__enter__()

    def test_deleting_a_sealed_topic_frees_its_name(self, topic: Topic, store: StoreUnderTest) -> None:
        topic.append(b"old")
        topic.seal()
        store.delete(topic.name)
        topic.append(b"new")
        assert read_all(topic.subscribe_from_beginning(), 1) == [b"new"]

    def test_whatever_was_acknowledged_is_delivered_before_the_end(self, topic: Topic, peer_topic: Topic) -> None:
        acknowledged: list[list[bytes]] = [[] for _ in range(4)]

        def write(target: Topic, index: int) -> None:
            with contextlib.suppress(TopicSealedError):
                for number in range(100_000):
                    target.append(b"%d.%d" % (index, number))
                    acknowledged[index].append(b"%d.%d" % (index, number))

        with topic.subscribe_from_tail() as subscription:
            writers = [
                Background(lambda target=target, index=index: write(target, index))  # type: ignore[misc]
                for index, target in enumerate([topic, peer_topic] * 2)
            ]
            take(subscription, 20)
            peer_topic.seal()
            for writer in writers:
                writer.result()
        with topic.subscribe_from_beginning() as again:
            found = drain(again)
        assert sorted(found) == sorted(payload for mine in acknowledged for payload in mine)

    @pytest.mark.parametrize("error", [b"bytes", 7, ["x"], object()])
    def test_a_reason_that_is_not_text_is_refused(self, topic: Topic, error: str) -> None:
        with pytest.raises(InvalidTypeError):
            topic.seal(error=error)
        topic.append(b"still open")

    @pytest.mark.parametrize("error", ["", "x" * (limits.MAX_SEAL_ERROR_BYTES + 1), "\u00e9" * 600, "a\0b", "\ud800"])
    def test_a_reason_that_no_store_could_keep_is_refused(self, topic: Topic, error: str) -> None:
        with pytest.raises(InvalidArgumentError):
            topic.seal(error=error)
        topic.append(b"still open")
