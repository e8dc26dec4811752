"""What a pass asks about payloads, and what an append does, is answered by an index on every database."""

import os
from collections.abc import Callable, Iterator

import pytest
from tests.workflow.conftest import ENGINES
from tests.workflow.payloads.scene import Scene
from tests.workflow.places import Place

from tailrace.spi import Ask
from tailrace.workflow.store import claims, holds, payloads

MANY = 3000

STATEMENTS: dict[str, tuple[str, tuple[int | bytes, ...]]] = {
    "what may be discarded": (claims._DISCARDABLE, (5, 0, 0, 0, 100)),
    "what a stream claims": (claims._OF_STREAM, (7, 100)),
    "what a run claims": (claims._OF_RUN, (7, 100)),
    "whether others claim it": (claims._ELSEWHERE, (7, 8)),
    "whether there is a hold": (holds._HELD, (b"default",)),
    "whether something is being deleted": (holds._DELETING, (b"default",)),
    "what has a name": (payloads._FIND, (b"default", b"name 7")),
}


@pytest.fixture(scope="module", params=ENGINES)
def full(
    request: pytest.FixtureRequest, places: Callable[[str], Place], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    """Three thousand payloads, each claimed by a stream of its own, but for ten; in a hundred runs."""
    place = places(request.param)
    url = place.url
    scene = Scene(url, tmp_path_factory.mktemp("plans"))

    def work(ask: Ask) -> tuple[None, list[str]]:
        rows = [
            (
                b"default",
                b"name %d" % n,
                b"uri",
                b"avro",
                1,
                os.urandom(32),
                2 if n > 10 else 1,
                n,
                n if n <= 10 else None,
            )
            for n in range(1, MANY + 1)
        ]
        ask.add("workflow_payloads", payloads._NEW, rows)
        ask.add("workflow_claims", claims._NEW_CLAIM, [(n, n) for n in range(11, MANY + 1)])
        streams = [(n % 100, b"s%d" % n, b"topic %d" % n, 1, 1) for n in range(1, MANY + 1)]
        columns = {"run": int, "stream_name": bytes, "name": bytes, "incarnation": int, "opened_at": int}
        ask.add("workflow_streams", columns, streams)
        held = [(b"another %d" % n, b"x", 1, 2**60) for n in range(MANY)]
        ask.add("workflow_holds", holds._NEW, held)
        return None, []

    scene.database.change(work, 60.0)
    analyse = {"sqlite": "ANALYZE {%s}", "postgresql": "ANALYZE {%s}", "mariadb": "ANALYZE TABLE {%s}"}[kind(url)]
    for table in ("workflow_payloads", "workflow_claims", "workflow_streams", "workflow_holds"):
        if kind(url) == "mariadb":
            scene.database.look(lambda ask, table=table: ask(analyse % table))  # type: ignore[misc]
        else:
            scene.change(analyse % table)
    yield scene
    scene.close()
    place.empty()


def kind(url: str) -> str:
    return url.partition(":")[0]


@pytest.mark.parametrize("what", STATEMENTS)
def test_it_is_answered_by_an_index(full: Scene, what: str) -> None:
    statement, values = STATEMENTS[what]
    explain = "EXPLAIN QUERY PLAN" if kind(full.url) == "sqlite" else "EXPLAIN"

    plan = full.database.look(lambda ask: ask(f"{explain} {statement}", *values))

    text = "\n".join(" ".join(map(str, row)) for row in plan)
    match kind(full.url):
        case "sqlite":
            assert "SCAN" not in text, text
        case "postgresql":
            assert "Seq Scan" not in text, text
            assert "Index" in text, text
        case "mariadb":
            # The fourth column is how rows are found: all of them, all of an index, or otherwise.
            assert not {row[3] for row in plan} & {"ALL", "index"}, text
