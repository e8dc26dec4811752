"""Phases: what each of them writes and reads, that neighbours get along, and that the first one changes nothing."""

import contextlib
from collections.abc import Iterator

import pytest
import redis
from tests.broadcast.commands import commands
from tests.rollout.colours import COLOURS, Colour
from tests.rollout.fixtures import PHASES, Deploy, deployed, everything

from tailrace import broadcast
from tailrace.broadcast import BroadcastUnavailableError
from tailrace.errors import DurableStreamUnavailableError, InvalidArgumentError, InvalidTypeError
from tailrace.rollout import Phase
from tailrace.rollout.phases import flag_of
from tailrace.testing.broadcast.listening import hear, until
from tailrace.testing.reading import numbered
from tailrace.testing.servers.redis import RedisServer

NEIGHBOURS = [(a, b) for a in PHASES for b in PHASES if abs(PHASES.index(a) - PHASES.index(b)) <= 1]


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.mark.parametrize(("producers", "listeners"), NEIGHBOURS, ids=lambda phase: phase.value)
def test_processes_of_neighbouring_phases_get_along(producers: Phase, listeners: Phase, deployment: Deploy) -> None:
    with deployment() as running:
        sending, listening = running.process("p", producers), running.process("l", listeners)
        with listening.topic("t").subscribe() as subscription:
            for payload in numbered(20):
                sending.topic("t").publish(payload)
            assert everything(subscription, 20) == numbered(20)


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.value)
def test_what_is_published_between_preparing_and_entering_arrives(phase: Phase, deployment: Deploy) -> None:
    with deployment() as running:
        topic = running.process("p", phase).topic("t")
        topic.publish(b"before")
        subscription = topic.as_subscriber().prepare()
        topic.as_producer().publish(b"between")
        with subscription:
            assert everything(subscription, 1) == [b"between"]


def test_it_is_a_channel_to_whoever_depends_on_the_protocols() -> None:
    with deployed(COLOURS[0]) as running:
        rollout = running.process("p", Phase.BROADCAST)
        assert isinstance(rollout, broadcast.BroadcastChannel)
        assert isinstance(rollout.topic("t"), broadcast.Topic)
        assert isinstance(rollout.topic("t").subscribe(), broadcast.Subscription)


def test_the_first_pattern_that_matches_decides_and_none_means_as_before(deployment: Deploy) -> None:
    with deployment() as running:
        phases = {"run:test-*": Phase.BROADCAST, "run:*": Phase.DURABLE}
        rollout = running.turned_by(phases)
        prefix = "rollout" if running.colour.name == "sync" else "rollout.aio"
        told = {name: repr(rollout.topic(name)) for name in ("run:test-1", "run:1", "chat:1")}
        assert told == {
            "run:test-1": f"<{prefix}.Topic 'run:test-1', broadcast>",
            "run:1": f"<{prefix}.Topic 'run:1', durable>",
            "chat:1": f"<{prefix}.Topic 'chat:1', broadcast>",
        }
        phases["chat:*"] = Phase.WRITE_BOTH
        assert "write-both" in repr(rollout.topic("chat:1"))


@pytest.mark.parametrize("phases", [{"run:*": "durable"}, ["run:*"], None])
def test_phases_that_are_none_are_refused(phases: object, deployment: Deploy) -> None:
    with deployment() as running, pytest.raises(InvalidArgumentError):
        running.turned_by(phases)


@pytest.mark.parametrize("form", ["pubsub", "sharded", "streams"])
def test_with_the_flag_off_the_commands_on_the_wire_are_those_of_the_channel(
    server: RedisServer, form: str, colour: Colour
) -> None:
    url = f"{server.url}?mode={form}"
    with redis.Redis.from_url(server.url) as raw, contextlib.closing(colour.streams(server.url)) as streams:

        def said(*, bare: bool) -> list[str]:
            raw.flushall()
            # Which one finds its script there is of the order, not of what is used.
            raw.script_flush()
            with raw.monitor() as monitor:
                with contextlib.closing(colour.channel(url)) as channel:
                    chosen = channel if bare else colour.rollout(channel, streams, {}, 30.0)
                    topic = chosen.topic("t")
                    topic.publish(b"before")
                    with topic.subscribe() as subscription:
                        topic.publish(b"x")
                        assert hear(subscription, 1) == [b"x"]
                    with topic.prepare() as subscription:
                        topic.publish(b"y")
                        assert hear(subscription, 1) == [b"y"]
                    until(lambda: not raw.pubsub_channels() + raw.pubsub_shardchannels(), "it is left")
                seen = [command for command in commands(raw, monitor) if "{t}" in command]
            # Ids and places are the server's, and of the moment.
            return [" ".join(word for word in command.split(" ") if not word.startswith("(")) for command in seen]

        bare = said(bare=True)
        assert [command for command in bare if "PUBLISH" in command or "EVAL" in command]
        # A read may find nothing more to read, or that the next message is there: how many there are is of the moment.
        assert sorted(set(said(bare=False))) == sorted(set(bare))


@pytest.mark.parametrize("phase", [Phase.WRITE_BOTH, Phase.READ_DURABLE], ids=lambda phase: phase.value)
def test_what_can_not_be_appended_is_not_published(deployment: Deploy, phase: Phase) -> None:
    with deployment() as running:
        topic = running.process("p", phase).topic("t")
        with running.channel.topic("t").subscribe() as subscription:
            running.streams.close()
            with pytest.raises(DurableStreamUnavailableError):
                topic.publish(b"x")
            assert subscription.receive(0) is None


def test_what_can_not_be_published_is_told_while_somebody_may_listen_there(
    caplog: pytest.LogCaptureFixture, deployment: Deploy
) -> None:
    with deployment() as running:
        running.channel.close()
        with pytest.raises(BroadcastUnavailableError):
            running.process("p", Phase.WRITE_BOTH).topic("t").publish(b"secret")
        running.process("q", Phase.READ_DURABLE).topic("t").publish(b"secret")
        assert [record.name for record in caplog.records] == ["tailrace.rollout"]
        assert "secret" not in caplog.text
        with running.streams.topic("t").subscribe_from_beginning() as subscription:
            assert [subscription.receive(5).payload for _ in range(2)] == [b"secret"] * 2


def test_a_payload_that_is_none_is_refused_before_anything_is_written(deployment: Deploy) -> None:
    with deployment() as running:
        topic = running.process("p", Phase.WRITE_BOTH).topic("t")
        with pytest.raises(InvalidTypeError):
            topic.publish("text")  # type: ignore[arg-type]
        with running.streams.topic("t").subscribe_from_beginning() as subscription:
            assert subscription.receive(0) is None


def test_a_flag_whose_answer_is_no_phase_is_told_and_nothing_is_written(deployment: Deploy) -> None:
    with deployment() as running:
        topic = running.turned_by(lambda _: "durable").topic("t")  # type: ignore[arg-type, return-value]
        with pytest.raises(InvalidTypeError, match="'t' must be one of Phase, not 'durable'"):
            topic.publish(b"x")
        with pytest.raises(InvalidTypeError):
            topic.subscribe()


def test_patterns_may_be_changed_while_a_topic_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    phases = {"a": Phase.DURABLE, "b": Phase.WRITE_BOTH}

    def match(name: str, pattern: str) -> bool:
        phases[f"new-{len(phases)}"] = Phase.DURABLE
        return name == pattern

    monkeypatch.setattr("tailrace.rollout.phases.fnmatchcase", match)
    assert flag_of(phases)("b") is Phase.WRITE_BOTH
