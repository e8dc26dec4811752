"""Threads that take turns, and a clock that moves only when all of them sleep.

A simulated thread is a greenlet. It runs until it blocks or until the schedule takes the turn away from it at
a *point*: before every statement of the engine (see ``weaving``), at its locks, at the calls of the store.
Time stands still while anybody can run, so a history of minutes takes milliseconds and repeats exactly.
"""

import heapq
import itertools
import math
from collections.abc import Callable

import greenlet
from tests.simulation.schedule import Schedule

MOST_POINTS = 400_000
"""More than any history needs: whoever gets there is in a loop that never ends."""

FAIR_SHARE = 6_000
"""Points after which whoever never blocks gives way to the others, as a real thread would have to."""

EPOCH = 1_700_000_000.0


class InterruptedHere(BaseException):
    """What a signal handler, a soft time limit or a killed greenlet raises: at any instruction, and no Exception."""


class Task:
    """One simulated thread.

    Attributes:
        interrupt_in: Points after which it is interrupted; 0 for never.
        failure: What it died of.
    """

    __slots__ = ("blocked", "done", "failure", "glet", "interrupt_in", "joiners", "name", "wait", "woken")

    def __init__(self, name: str, glet: greenlet.greenlet) -> None:
        self.name = name
        self.glet = glet
        self.done = False
        self.blocked = False
        self.woken = False
        self.wait = 0
        self.interrupt_in = 0
        self.failure: BaseException | None = None
        self.joiners: list[Task] = []


class World:
    """All threads and the clock of one history. Lives in one real thread."""

    def __init__(self, schedule: Schedule) -> None:
        self.now = 1000.0
        self.current: Task
        self.tasks: list[Task] = []
        self.stuck: str | None = None
        self.over = True  # until it runs: what is built before is not preempted
        self._schedule = schedule
        self._hub = greenlet.getcurrent()
        self._runnable: list[Task] = []
        self._timers: list[tuple[float, int, Task, int]] = []
        self._tie = itertools.count()
        self._sequence = itertools.count(1)
        self._points = 0
        self._choices = 0
        self._since = 0
        self._left = schedule.gap(0)
        self._granted = self._countdown = self._left

    def tick(self) -> int:
        """Return the next number of the order in which everything happens."""
        return next(self._sequence)

    def spawn(self, name: str, body: Callable[[], object]) -> Task:
        """Start a thread."""

        def run() -> None:
            try:
                body()
            except greenlet.GreenletExit:
                pass
            except BaseException as exc:  # noqa: BLE001 - reported as a violation
                task.failure = exc
            task.done = True
            self._spend()
            for joiner in task.joiners:
                self.wake(joiner)

        task = Task(name, greenlet.greenlet(run, parent=self._hub))
        self.tasks.append(task)
        self._runnable.append(task)
        return task

    def join(self, task: Task, timeout: float | None = None) -> None:
        """Block until a thread has ended."""
        if not task.done:
            task.joiners.append(self.current)
            self.block(timeout)

    def point(self) -> None:
        """Let the schedule take the turn away, or interrupt this thread."""
        self._countdown -= 1
        if self._countdown <= 0 and not self.over:
            self._look()

    def interrupt_after(self, points: int) -> None:
        """Interrupt the current thread once, after so many points of its own; 0 for not at all."""
        self._spend()
        self.current.interrupt_in = points
        self._grant()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        if seconds > 0:
            self.block(seconds)
        else:
            self.point()

    def block(self, timeout: float | None = None) -> bool:
        """Sleep until woken; return whether it was, or whether the time was over first."""
        if self.over:
            raise greenlet.GreenletExit
        task = self.current
        task.blocked, task.woken = True, False
        task.wait += 1
        if timeout is not None and timeout < math.inf:
            heapq.heappush(self._timers, (self.now + max(timeout, 0.0), next(self._tie), task, task.wait))
        self._switch()
        return task.woken

    def wake(self, task: Task) -> None:
        """Let a blocked thread go on."""
        if task.blocked:
            task.blocked, task.woken = False, True
            self._runnable.append(task)

    def run(self) -> None:
        """Run until every thread has ended, or nobody can go on (``stuck`` then says so)."""
        self.over = False
        runnable, choose = self._runnable, self._schedule.choose
        while self.stuck is None:
            if not runnable and not self._advance():
                break
            self._choices += 1
            at = choose(self._choices, len(runnable)) if len(runnable) > 1 else 0
            self.current = task = runnable.pop(at)
            self._since = self._points
            self._grant()
            task.glet.switch()
        waiting = [task.name for task in self.tasks if not task.done]
        if waiting and self.stuck is None:
            self.stuck = f"nobody can go on and nothing is due; waiting for ever: {', '.join(waiting)}"

    def end(self) -> None:
        """Throw away whatever still waits."""
        self.over = True
        for task in self.tasks:
            if not task.glet.dead:
                task.glet.throw(greenlet.GreenletExit)

    def _advance(self) -> bool:
        timers = self._timers
        while timers:
            when, _, task, wait = heapq.heappop(timers)
            if task.blocked and task.wait == wait:
                self.now = max(self.now, when)
                task.blocked = False
                self._runnable.append(task)
                break
        else:
            return False
        while timers and timers[0][0] <= self.now:
            _, _, task, wait = heapq.heappop(timers)
            if task.blocked and task.wait == wait:
                task.blocked = False
                self._runnable.append(task)
        return True

    def _grant(self) -> None:
        until = min(self._left, self._since + FAIR_SHARE - self._points)
        self._granted = self._countdown = 1 if self.current.interrupt_in else until

    def _spend(self) -> None:
        spent = self._granted - self._countdown
        self._points += spent
        self._left -= spent
        self._granted = self._countdown

    def _look(self) -> None:
        self._spend()
        task = self.current
        if self._points > MOST_POINTS:
            self.stuck = f"a loop that never ends, in {task.name}"
            self._hub.switch()
            raise greenlet.GreenletExit
        if task.interrupt_in:
            task.interrupt_in -= 1
            if not task.interrupt_in:
                self._left = max(self._left, 1)
                self._grant()
                raise InterruptedHere
        if self._left <= 0:
            decision = self._schedule.preempt(self._points, len(self._runnable))
            self._left = self._schedule.gap(self._points)
            self._grant()
            if decision is not None:
                self._yield(task, decision)
        elif self._points - self._since >= FAIR_SHARE:
            self._since = self._points
            if self._runnable:
                self._yield(task, 0)
        self._grant()

    def _yield(self, task: Task, decision: int) -> None:
        if decision < 0:
            self.block(-decision / 1000)
            return
        # It takes over at once: no second choice.
        self._spend()
        chosen = self._runnable.pop(decision)
        self._runnable.append(task)
        self.current = chosen
        self._since = self._points
        self._grant()
        chosen.glet.switch()

    def _switch(self) -> None:
        self._spend()
        self._hub.switch()
        if self.over:
            raise greenlet.GreenletExit
