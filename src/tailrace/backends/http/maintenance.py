"""Operations over HTTP, for whoever has a key that may administer. Retention is what the server is set to."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from typing_extensions import override

from tailrace import wire
from tailrace.backends.http.calls import Calls, whole
from tailrace.backends.http.line import BrokenLineError
from tailrace.errors import DurableStreamUnavailableError
from tailrace.retention import Retention
from tailrace.spi import Maintenance, SweepBudget, SweepReport, TopicInfo
from tailrace.wire import MalformedError

T = TypeVar("T")

TOPIC_BYTES = 8 * 1024
"""Bytes that a topic may take in a list."""

SLACK = 4096
"""Bytes of an answer beside."""


class HttpMaintenance(Maintenance):
    """The operations of ``HttpStore``. Each is asked for once: what a lost answer said can not be asked for again."""

    _calls: Calls
    _patience: float

    @override
    def topics(self, prefix: str = "", after: str = "", limit: int = 1000) -> Sequence[TopicInfo]:
        asked = wire.to_json({"prefix": prefix, "after": after, "limit": limit})
        return self._operate(wire.PATHS.topics, asked, wire.infos_from, self._patience, SLACK + limit * TOPIC_BYTES)

    @override
    def trim(self, topic: str, retention: Retention) -> int:
        return self._operate(wire.PATHS.trim, wire.trim_to(topic, retention), wire.count_from, self._patience)

    @override
    def delete(self, topic: str) -> bool:
        return self._operate(wire.PATHS.delete, wire.to_json({"topic": topic}), wire.flag_from, self._patience)

    @override
    def sweep(self, budget: SweepBudget) -> SweepReport:
        patience = self._patience + budget.max_seconds
        return self._operate(wire.PATHS.sweep, wire.budget_to(budget), wire.report_from, patience)

    def _operate(
        self, path: bytes, body: bytes, unpack: Callable[[bytes], T], patience: float, limit: int = SLACK
    ) -> T:
        self._check_open()
        try:
            return unpack(self._calls.once(path, body, whole(limit), time.monotonic() + patience))
        except (BrokenLineError, MalformedError) as exc:
            raise self._calls.explained(exc) from exc
        except DurableStreamUnavailableError as exc:
            # Only of interest for appends.
            exc.maybe_stored = False
            raise

    def _check_open(self) -> None:
        raise NotImplementedError
