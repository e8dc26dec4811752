"""What users with least rights do on every store whose page grants them."""

import tailrace
from tailrace import CLOSED, Retention
from tailrace.spi import SweepBudget
from tailrace.testing.reading import numbered, payloads, take


def each_does_its_part(
    operator: tailrace.StreamClient,
    reader: tailrace.StreamClient,
    appender: tailrace.StreamClient,
    sweeper: tailrace.StreamClient,
) -> None:
    """Follow, append, seal, trim, forget and delete, each as whoever is to do it."""
    with reader.topic("t").subscribe_from_tail() as live:
        appender.topic("t").append(b"0")
        assert payloads(take(live, 1)) == [b"0"]
        appender.topic("t").append_many(numbered(9, 1))
        assert payloads(take(live, 9)) == numbered(9, 1)
        assert reader.stats()["hints_arrive"] is True
        appender.topic("t").seal()
        assert live.receive(timeout=5) is CLOSED
    assert [(info.name, info.records) for info in sweeper.maintenance.topics()] == [("t", 10)]
    assert sweeper.maintenance.trim("t", Retention(max_records=1)) == 9
    operator.topic("idle").append(b"x")
    sweeper.maintenance.trim("idle", Retention(max_records=0))
    assert sweeper.maintenance.sweep(SweepBudget()).forgotten == 1
    assert sweeper.maintenance.delete("t") is True
