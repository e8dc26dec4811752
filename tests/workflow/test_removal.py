"""Removing a run beside those who use it, and others."""

import pytest
from tests.workflow.items import items, payloads
from tests.workflow.places import Place

from tailrace.testing.reading import Background
from tailrace.workflow.embedded import EmbeddedService


@pytest.mark.parametrize("place", ["postgres", "mariadb"], indirect=True)
def test_a_run_is_removed_whatever_others_do_with_theirs(service: EmbeddedService, place: Place) -> None:
    # Few rows: to look at all of them would be the quickest way, if it were not for locks.
    mine, other = place.stream(), place.stream()
    for name in "abcdef":
        service.append(mine.run.stream(name), items("x"))
    service.append(other, items("x"))
    with place.held(other.topic) as cursor:
        assert len(cursor.fetchall()) == 1
        assert service.delete_run(mine.run)
    assert payloads(service, other) == ["x"]


@pytest.mark.parametrize("place", ["postgres", "mariadb"], indirect=True)
def test_a_removal_waits_for_who_appends_and_leaves_nothing_of_it(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    service.append(stream, items("x"))
    with place.held(stream.topic) as cursor:
        ((number,),) = cursor.fetchall()
        deleting = Background(lambda: service.delete_run(stream.run))
        place.until_somebody_waits()
        cursor.execute(
            f"INSERT INTO {place.named('workflow_items')} (stream, position, tag, digest, document) "
            f"VALUES ({number}, 2, 0, '{'d' * 16}', '')"
        )
        cursor.execute("COMMIT")
    assert deleting.result()
    assert [place.count(table) for table in ("workflow_runs", "workflow_streams", "workflow_items")] == [0, 0, 0]


def test_who_appends_while_the_run_is_removed_opens_another_one(service: EmbeddedService, place: Place) -> None:
    stream = place.stream()
    for _ in range(5):
        service.append(stream, items("abc"))
        appending = [Background(lambda: service.append(stream, items("d"))) for _ in range(4)]
        removed = service.delete_run(stream.run)
        for caller in appending:
            assert caller.result().accepted == 1
        assert removed
        # Each of them was removed with the run, or is in the new one; nothing lies about.
        found = place.execute("SELECT id, last_position FROM {workflow_streams}")
        assert place.count("workflow_items") == sum(int(row[1]) for row in found)
        service.delete_run(stream.run)
    assert place.count("workflow_items") == 0
