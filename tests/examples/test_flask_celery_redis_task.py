"""The task of examples/flask-celery-redis, without its processes: a run has an end, whatever its model does."""

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from tests.examples.running import EXAMPLES

import tailrace


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module, with broker and store in this process."""
    monkeypatch.syspath_prepend(str(EXAMPLES / "flask-celery-redis"))
    monkeypatch.setenv("REDIS_URL", "memory://")
    module = importlib.import_module("answers.tasks")
    monkeypatch.setattr(module, "AGAIN_AFTER", 0.0)
    yield module
    module.streams.close()
    module.app.close()
    # Another test may want the modules with other settings.
    for name in [name for name in sys.modules if name.partition(".")[0] == "answers"]:
        del sys.modules[name]


def test_a_model_that_breaks_every_time_ends_the_run_as_failed(
    tasks: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(prompt: str, tokens: int, pause: float) -> Iterator[str]:
        yield f"token {tokens} "
        raise OSError("the provider is away")

    monkeypatch.setattr(tasks.model, "continued", breaks)
    states = [tasks.write.apply(("1", "a question")).state for _ in range(tasks.MOST_ATTEMPTS + 1)]

    assert states == ["REJECTED"] * tasks.MOST_ATTEMPTS + ["SUCCESS"]
    tokens = []
    with tasks.streams.topic("run:1").subscribe_from_beginning() as subscription:
        while isinstance(record := subscription.receive(timeout=10), tailrace.DurableStreamRecord):
            tokens.append(record.payload)
        assert record is tailrace.CLOSED
    assert subscription.end is not None
    assert subscription.end.error == "The model gave no answer."
    # Each attempt went on where the one before it had broken.
    assert sum(b'"token"' in payload for payload in tokens) == tasks.MOST_ATTEMPTS
