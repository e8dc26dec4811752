"""What follows a place on NATS: loss is told by the chain of messages, and by nothing else."""

import pytest

from tailrace.backends.nats.frames import Kind, State, compose, position
from tailrace.backends.nats.pages import lost, page
from tailrace.backends.nats.stored import Head, Stored, head_of
from tailrace.spi import Boundary, Page, PositionLost, ReadRequest, Seal

LIFE = 7


class Topic:
    """Messages of one subject, at sequences with holes between them, as other topics leave them."""

    def __init__(self, life: int = LIFE, sequence: int = 0) -> None:
        self.state = State(life)
        self.messages: list[Stored] = []
        self._sequence = sequence

    def add(self, *payloads: bytes, kind: Kind = Kind.RECORDS) -> "Topic":
        before, self._sequence = self._sequence, self._sequence + 10
        frame = compose(kind, before if self.messages else 0, self._sequence, "t", self.state, payloads)
        self.messages.append(Stored(self._sequence, 1, frame))
        self.state = self.messages[-1].state
        return self

    def control(self, **changes: object) -> "Topic":
        self.state = self.state._replace(**changes)  # type: ignore[arg-type]
        return self.add(kind=Kind.CONTROL)

    @property
    def head(self) -> Head:
        return head_of(self.messages[-1])

    def place(self, message: int, index: int) -> Boundary:
        stored = self.messages[message]
        return Boundary(self.state.incarnation, position(stored.sequence, index), stored.frame.tag)


BIRTH = Boundary(LIFE, 0, 0)


def ask(after: Boundary, records: int = 100, size: int = 10_000) -> ReadRequest:
    return ReadRequest("t", after, records, size)


def read(topic: Topic, after: Boundary, messages: list[Stored] | None = None, **limits: int) -> object:
    return page(ask(after, **limits), after, topic.messages if messages is None else messages, topic.head)


def payloads(outcome: object) -> list[bytes]:
    assert isinstance(outcome, Page)
    return [record[2] for record in outcome.records]


@pytest.fixture
def topic() -> Topic:
    return Topic().add(b"0", b"1").add(b"2").add(b"3", b"4", b"5")


def test_a_place_is_proved_by_its_own_message(topic: Topic) -> None:
    outcome = read(topic, topic.place(0, 0))
    assert payloads(outcome) == [b"1", b"2", b"3", b"4", b"5"]
    assert outcome == Page(outcome.records, topic.place(2, 2), False)  # type: ignore[attr-defined]


def test_a_place_in_a_later_message_begins_behind_its_index(topic: Topic) -> None:
    assert payloads(read(topic, topic.place(2, 1), topic.messages[2:])) == [b"5"]


def test_holes_between_sequences_are_no_loss(topic: Topic) -> None:
    assert payloads(read(topic, BIRTH)) == [b"0", b"1", b"2", b"3", b"4", b"5"]


def test_a_place_whose_message_is_gone_holds_if_the_next_one_names_its_record(topic: Topic) -> None:
    assert payloads(read(topic, topic.place(0, 1), topic.messages[1:])) == [b"2", b"3", b"4", b"5"]


def test_a_place_whose_next_record_is_gone_is_lost(topic: Topic) -> None:
    assert isinstance(read(topic, topic.place(0, 0), topic.messages[1:]), PositionLost)
    assert isinstance(read(topic, topic.place(0, 1), topic.messages[2:]), PositionLost)
    assert isinstance(read(topic, BIRTH, topic.messages[1:]), PositionLost)


@pytest.mark.parametrize("change", [{"tag": 99}, {"incarnation": 8}, {"position": position(10, 2)}], ids=str)
def test_a_place_of_another_history_is_lost(topic: Topic, change: dict[str, int]) -> None:
    assert isinstance(read(topic, topic.place(0, 1)._replace(**change)), PositionLost)


def test_a_place_beyond_the_tail_is_lost(topic: Topic) -> None:
    assert isinstance(read(topic, Boundary(LIFE, position(40, 0), 40), []), PositionLost)


def test_what_is_behind_a_hole_in_the_chain_is_not_returned(topic: Topic) -> None:
    outcome = read(topic, topic.place(0, 0), [topic.messages[0], topic.messages[2]])
    assert payloads(outcome) == [b"1"]
    assert isinstance(outcome, Page)
    assert outcome.more
    assert isinstance(read(topic, outcome.end, [topic.messages[0], topic.messages[2]]), PositionLost)


def test_a_horizon_that_passed_the_place_is_told_although_its_records_are_still_there(topic: Topic) -> None:
    topic.control(horizon=topic.place(2, 0)[1:])
    assert isinstance(read(topic, topic.place(1, 0)), PositionLost)
    assert payloads(read(topic, topic.place(2, 0), topic.messages[2:])) == [b"4", b"5"]


def test_a_place_at_the_horizon_or_the_tail_with_another_tag_is_lost(topic: Topic) -> None:
    topic.control(horizon=topic.place(2, 0)[1:])
    assert isinstance(lost(topic.place(2, 0)._replace(tag=99), topic.head), PositionLost)
    assert isinstance(lost(topic.place(2, 2)._replace(tag=99), topic.head), PositionLost)


def test_an_emptied_topic_lets_its_last_place_go_on(topic: Topic) -> None:
    end = topic.place(2, 2)
    topic.control(horizon=end[1:])
    assert read(topic, end, topic.messages[3:]) == Page((), end)
    topic.add(b"6")
    assert payloads(read(topic, end, topic.messages[3:])) == [b"6"]


def test_a_seal_comes_with_the_page_that_saw_it_and_yields_no_record(topic: Topic) -> None:
    topic.control(seal=Seal("why"))
    outcome = read(topic, topic.place(1, 0), topic.messages[1:])
    assert payloads(outcome) == [b"3", b"4", b"5"]
    assert isinstance(outcome, Page)
    assert (outcome.more, outcome.seal) == (False, Seal("why"))


def test_the_end_of_an_earlier_life_is_passed(topic: Topic) -> None:
    topic.add(kind=Kind.END)
    second = Topic(8, topic.messages[-1].sequence).add(b"new")
    found = page(ask(Boundary(8, 0, 0)), Boundary(8, 0, 0), [topic.messages[-1], *second.messages], second.head)
    assert payloads(found) == [b"new"]


def test_a_deleted_topic_and_its_next_life_lose_every_place(topic: Topic) -> None:
    place = topic.place(2, 2)
    topic.add(kind=Kind.END)
    assert isinstance(lost(place, topic.head), PositionLost)
    assert isinstance(lost(place, Topic(8).add(b"new").head), PositionLost)


@pytest.mark.parametrize(("records", "size", "expected"), [(3, 10_000, 3), (100, 2, 2), (100, 0, 1), (0, 10_000, 0)])
def test_a_page_keeps_to_its_bounds(topic: Topic, records: int, size: int, expected: int) -> None:
    outcome = read(topic, BIRTH, records=records, size=size)
    assert len(payloads(outcome)) == expected
    assert isinstance(outcome, Page)
    assert outcome.more


def test_messages_that_end_before_the_next_record_are_no_answer_yet(topic: Topic) -> None:
    assert read(topic, topic.place(0, 1), topic.messages[:1]) is None
    assert read(topic, topic.place(0, 1), []) is None
