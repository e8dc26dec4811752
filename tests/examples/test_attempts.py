"""The rule of examples/flask-celery-redis: however attempts interleave, each event counts once, in order."""

import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.examples.files import module_of
from tests.examples.running import EXAMPLES

import tailrace
from tailrace.testing.reading import payloads, take

attempts = module_of(EXAMPLES / "flask-celery-redis", "answers/attempts.py")
Attempt, Ended, Log, Superseded = attempts.Attempt, attempts.Ended, attempts.Log, attempts.Superseded


@pytest.fixture
def topic() -> Iterator[tailrace.Topic]:
    with tailrace.connect("memory://") as streams:
        yield streams.topic("run:1")


def log_of(topic: tailrace.Topic) -> Any:
    """What a reader makes of everything that is in the topic."""
    log = Log()
    with topic.subscribe_from_beginning() as subscription:
        while isinstance(record := subscription.receive(timeout=0), tailrace.DurableStreamRecord):
            log.apply(record.payload)
    return log


def test_an_attempt_goes_on_after_what_the_one_before_it_left(topic: tailrace.Topic) -> None:
    with Attempt(topic) as first:
        assert (first.number, first.events) == (1, [])
        first.append("a")
        first.append({"b": [1]})
    with Attempt(topic) as second:
        assert (second.number, second.events) == (2, ["a", {"b": [1]}])
        second.append("c")
        second.finish()
    assert log_of(topic).events == ["a", {"b": [1]}, "c"]
    with topic.subscribe_from_tail() as subscription:
        assert subscription.receive(timeout=5) is tailrace.CLOSED


def test_one_that_was_taken_over_is_told_at_its_next_event_which_does_not_count(topic: tailrace.Topic) -> None:
    with Attempt(topic) as first:
        first.append("a")
        with Attempt(topic) as second:
            with pytest.raises(Superseded):
                first.append("b of the first")
            second.append("b")
            assert second.events == log_of(topic).events == ["a", "b"]


def test_one_that_was_taken_over_can_not_end_the_topic(topic: tailrace.Topic) -> None:
    with Attempt(topic) as first:
        first.append("a")
        with Attempt(topic) as second:
            with pytest.raises(Superseded):
                first.finish(error="given up")
            second.append("b")
            second.finish()
            first.wait_for_end()
    log = log_of(topic)
    assert (log.events, log.end) == (["a", "b"], {"error": None})


def test_an_attempt_that_comes_after_the_end_is_told_so(topic: tailrace.Topic) -> None:
    with Attempt(topic) as first:
        first.finish(error="the model refused")
    with pytest.raises(Ended):
        Attempt(topic).__enter__()


def test_one_that_dies_between_the_last_record_and_the_seal_is_finished_by_the_next(topic: tailrace.Topic) -> None:
    with Attempt(topic) as first:
        first.append("a")
        first._topic = WithoutSeal(topic)
        with pytest.raises(KeyboardInterrupt):
            first.finish(error="the model refused")
    with pytest.raises(Ended):
        Attempt(topic).__enter__()
    with topic.subscribe_from_beginning() as subscription:
        take(subscription, 4)
        assert subscription.receive(timeout=5) is tailrace.CLOSED
    assert subscription.end is not None
    assert subscription.end.error == "the model refused"


class WithoutSeal:
    """A topic of a process that dies when it comes to sealing."""

    def __init__(self, topic: tailrace.Topic) -> None:
        self.append = topic.append

    def seal(self, *, error: str | None) -> None:
        """Die."""
        raise KeyboardInterrupt


class Unsure:
    """A topic whose appends fail now and then; some of them are stored all the same, at once or later."""

    def __init__(self, topic: tailrace.Topic, chance: random.Random, on_the_way: list[bytes]) -> None:
        self._topic = topic
        self._chance = chance
        self._on_the_way = on_the_way
        self.seal = topic.seal
        self.subscribe_from_beginning = topic.subscribe_from_beginning

    def append(self, payload: bytes) -> None:
        """Store it, or not, and tell the truth, or nothing certain."""
        fate = self._chance.random()
        if self._on_the_way and fate < 0.3:
            self._topic.append(self._on_the_way.pop())
        if fate < 0.7:
            self._topic.append(payload)
        elif fate < 0.85:
            self._topic.append(payload)
            raise tailrace.DurableStreamUnavailableError("lost answer", maybe_stored=True)
        else:
            if fate < 0.95:
                self._on_the_way.append(payload)
            raise tailrace.DurableStreamUnavailableError("lost request", maybe_stored=fate < 0.95)


def test_an_append_of_unknown_outcome_counts_once(topic: tailrace.Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_AGAIN_AFTER", 0.001)
    chance = random.Random(7)
    with Attempt(Unsure(topic, chance, [])) as attempt:
        for number in range(60):
            attempt.append(number)
        attempt.finish()
    stored = log_of(topic)
    assert stored.events == list(range(60))
    assert stored.attempts == 1


def test_doubled_records_are_seen_as_what_they_are(topic: tailrace.Topic) -> None:
    with Attempt(topic) as attempt:
        for number in range(3):
            attempt.append(number)
    with topic.subscribe_from_beginning() as subscription:
        seen = payloads(take(subscription, 4))
    log = Log()
    for payload in [seen[0], seen[0], seen[1], seen[1], seen[2], seen[1], seen[0], seen[3], seen[2]]:
        log.apply(payload)
    assert (log.events, log.attempts) == ([0, 1, 2], 1)


def test_a_claim_that_arrives_again_takes_the_topic_from_nobody() -> None:
    log = Log()
    for record in (
        b'{"attempt": "a"}',
        b'{"attempt": "b"}',
        b'{"attempt": "a"}',
        b'{"attempt": "b", "n": 0, "event": 1}',
    ):
        log.apply(record)
    assert (log.owner, log.attempts, log.events) == ("b", 2, [1])


@pytest.mark.parametrize("seed", range(5))
def test_however_attempts_interleave_each_event_counts_once(
    topic: tailrace.Topic, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six workers at once take the topic from each other, die, are late, and lose answers."""
    monkeypatch.setattr(attempts, "_AGAIN_AFTER", 0.001)
    length = 40
    on_the_way: list[bytes] = []

    def work(chance: random.Random) -> None:
        while True:
            try:
                with Attempt(Unsure(topic, chance, on_the_way)) as attempt:
                    dies_after = chance.randint(1, 12)
                    for number in range(len(attempt.events), length):
                        if dies_after == 0:
                            break
                        dies_after -= 1
                        attempt.append(number)
                        if chance.random() < 0.2:
                            time.sleep(0.002)
                    else:
                        attempt.finish()
                        return
            except Superseded:
                time.sleep(chance.random() * 0.02)
            except Ended:
                return

    workers = [threading.Thread(target=work, args=(random.Random(seed * 10 + number),)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert not worker.is_alive()
    log = log_of(topic)
    assert log.events == list(range(length))
    assert log.end == {"error": None}
