"""Simulated time, processes and network. Everything random comes from one generator: a seed replays a run bit for bit."""

import hashlib
import heapq
from collections import Counter
from collections.abc import Callable, Generator
from functools import partial
from random import Random
from typing import Any

from rocketconnect_kit.errors import Unavailable

Action = Callable[[], object]
Steps = Generator[Any, Any, Any]
"""The code of a thread: yields seconds to sleep or a Future to wait for."""

Reply = Callable[[Any], None]
"""Takes the answer, or the exception that is the answer."""

NEVER = float("inf")
CALL_SECONDS = 5.0


class Future:
    """A result that comes later. Who waits is called at once when it is set."""

    __slots__ = ("_then", "done", "value")

    def __init__(self) -> None:
        self.done = False
        self.value: Any = None
        self._then: list[Action] = []

    def set(self, value: Any) -> None:
        """An exception is thrown into the thread that waits. Only the first result counts."""
        if not self.done:
            self.done, self.value = True, value
            for action in self._then:
                action()

    def then(self, action: Action) -> None:
        if self.done:
            action()
        else:
            self._then.append(action)


class World:
    """What there is: the time, the processes by name, the network between them, and the story of what happened."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.now = 0.0
        self.events = 0
        self.processes: dict[str, Process] = {}
        self.faults: Counter[str] = Counter()
        self.story: list[str] = []
        self.network = Network(self)
        self.traps: dict[str, Callable[[Process], None]] = {}
        self._heap: list[tuple[float, int, Process | None, Action]] = []
        self._count = 0

    def at(self, when: float, action: Action, process: "Process | None" = None) -> None:
        """Let something happen; within a process not when it is dead, and only after its pause."""
        self._count += 1
        heapq.heappush(self._heap, (when, self._count, process, action))

    def run(self, until: float) -> None:
        heap = self._heap
        while heap and heap[0][0] <= until:
            self.now, _, process, action = heapq.heappop(heap)
            if process is not None:
                if not process.alive:
                    continue
                if process.paused_until > self.now:
                    process.backlog.append(action)
                    continue
            self.events += 1
            action()
        self.now = until

    def suspend(self, machine: str, seconds: float) -> None:
        """Suspend a machine: see Process.suspend."""
        for process in list(self.processes.values()):
            if _machine(process) == machine:
                process.suspend(seconds)

    def note(self, what: str) -> None:
        self.story.append(f"{self.now:9.4f} {what}")

    def fault(self, kind: str, what: str) -> None:
        """Count a fault that is injected now."""
        self.faults[kind] += 1
        self.note(f"FAULT {kind}: {what}")

    def digest(self) -> str:
        """The same for two runs only if they were the same, event by event and draw by draw."""
        seen = "\n".join([*self.story, str(self.events), str(self.random.getstate())])
        return hashlib.sha256(seen.encode()).hexdigest()


class Process:
    """One life of a process: code that runs on a clock of its own, which can be paused or killed at any moment."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.alive = True
        self.paused_until = 0.0
        # Clocks start anywhere and drift apart by up to 0.2 %, which is ten times what is allowed of a crystal.
        self.rate = 1.0 + world.random.uniform(-0.002, 0.002)
        self.zero = world.random.uniform(0.0, 1000.0)
        self.on_death: list[Action] = []
        self.calls: dict[Future, Action] = {}
        """Calls of this process without an answer yet, and what their clients see of its death."""
        self.backlog: list[Action] = []
        self.slept = 0.0
        """For how long its machine had been suspended when that began the last time."""
        self._suspended_at = self.suspended_until = 0.0
        world.processes[name] = self

    def clock(self) -> float:
        """Seconds of its monotonic clock, which stands still while the machine is suspended."""
        return self.zero + (self.world.now - self.asleep()) * self.rate

    def boot_clock(self) -> float:
        """Seconds since its machine started, suspensions included (mirrors kit/clock.boot_seconds)."""
        return self.zero + self.world.now * self.rate

    def asleep(self) -> float:
        """For how long its machine has been suspended since it started."""
        return self.slept + max(0.0, min(self.world.now, self.suspended_until) - self._suspended_at)

    def after(self, seconds: float, action: Action) -> None:
        """Call it after so many seconds of its own monotonic clock."""
        due = self.clock() + max(0.0, seconds)
        self.world.at(self.world.now + max(0.0, seconds) / self.rate, partial(self._ring, due, action), self)

    def _ring(self, due: float, action: Action) -> None:
        left = due - self.clock()
        if self.asleep() and left > 1e-6:
            # The clock stood still meanwhile.
            self.world.at(self.world.now + left / self.rate, partial(self._ring, due, action), self)
        else:
            action()

    def spawn(self, steps: Steps) -> "Thread":
        return Thread(self, steps)

    def kill(self) -> None:
        if self.alive:
            self.alive = False
            if self.world.processes.get(self.name) is self:
                del self.world.processes[self.name]
            self.world.note(f"{self.name} is dead")
            for action in (*self.on_death, *self.calls.values()):
                action()

    def pause(self, seconds: float) -> None:
        """SIGSTOP, and SIGCONT after so many seconds: what comes meanwhile waits in its sockets, timers fire late."""
        self.paused_until = max(self.paused_until, self.world.now + seconds)
        self.world.at(self.paused_until, self._go_on)

    def suspend(self, seconds: float) -> None:
        """Its machine is suspended for so many seconds: the process, its monotonic clock, its timers and its sockets stand still.

        What it has sent and nobody has got yet goes out when the machine is awake again.
        """
        now = self.world.now
        if self.suspended_until <= now:
            self.slept, self._suspended_at = self.asleep(), now
        self.suspended_until = max(self.suspended_until, now + seconds)
        self.pause(self.suspended_until - now)

    def resume(self) -> None:
        """SIGCONT, and the machine awake, now."""
        self.paused_until = min(self.paused_until, self.world.now)
        self.suspended_until = min(self.suspended_until, self.world.now)
        self._go_on()

    def _go_on(self) -> None:
        if self.world.now >= self.paused_until:
            backlog, self.backlog = self.backlog, []
            for action in backlog:
                self.world.at(self.world.now, action, self)

    def point(self, name: str) -> bool:
        """A named point at which a trap may be set; return whether the process goes on."""
        if name in self.world.traps:
            self.world.traps.pop(name)(self)
        return self.alive and self.paused_until <= self.world.now

    def handle(self, method: str, args: Any, reply: Reply) -> None:
        """Serve a call."""
        raise NotImplementedError


class Thread:
    """Runs steps in a process until they end, the process dies, or somebody cancels it."""

    def __init__(self, process: Process, steps: Steps) -> None:
        self._process = process
        self._steps = steps
        self.over = False
        process.after(0.0, self._go_on)

    def cancel(self) -> None:
        self.over = True

    def _go_on(self, value: Any = None) -> None:
        if self.over or not self._process.alive:
            return
        try:
            wait = self._steps.throw(value) if isinstance(value, Exception) else self._steps.send(value)
        except StopIteration:
            self.over = True
            return
        if isinstance(wait, Future):
            # Its own turn, so that a pause between the answer and what follows is possible.
            wait.then(lambda: self._process.after(0.0, lambda: self._go_on(wait.value)))
        else:
            self._process.after(wait, self._go_on)


class Network:
    """Connections between processes, by name: in order within a connection, at any speed, or not at all.

    Two names can be cut off from each other: what is sent meanwhile is lost with its connection, or TCP brings it later.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._last: dict[tuple[Process, Process], float] = {}
        self._cuts: dict[frozenset[str], float] = {}
        self.loss = 0.0
        self.twice = 0.0
        self.slow = 0.0

    def cut(self, one: str, other: str, seconds: float) -> None:
        self._cuts[frozenset((one, other))] = self._world.now + seconds

    def heal(self) -> None:
        self._cuts.clear()
        self.loss = self.twice = self.slow = 0.0

    def call(
        self, client: Process, server: str, method: str, args: Any, seconds: float = CALL_SECONDS, *, again: bool = True
    ) -> Future:
        """Call a server. The result is Unavailable when it can't be known: it may have happened, and may still happen.

        A request may arrive twice (`again`): the answer to the first was lost with its connection, and the channel tried again.
        """
        world, answer = self._world, Future()
        process = world.processes.get(server)

        def gone() -> None:
            client.after(0.01, lambda: answer.set(Unavailable("UNAVAILABLE", f"{server} is gone")))

        if process is None:
            gone()
            return answer
        client.after(seconds, lambda: answer.set(Unavailable("DEADLINE", f"{server} did not answer")))
        process.calls[answer] = gone
        answer.then(partial(process.calls.pop, answer, None))

        def reply(value: Any) -> None:
            self.send(process, client, lambda: answer.set(value))

        def arrive() -> None:
            process.handle(method, args, reply)

        self.send(client, process, arrive)
        if again and self.twice and world.random.random() < self.twice:
            world.faults["request twice"] += 1
            self.send(client, process, arrive)
        return answer

    def send(self, source: Process, target: Process, arrive: Action, *, reliable: bool = False) -> None:
        """Let something arrive in order within the connection; `reliable`: late rather than never (a stream breaks aloud)."""
        world, random = self._world, self._world.random
        delay = 0.0005 + 0.004 * random.random()
        if self.slow and random.random() < self.slow:
            world.faults["delay"] += 1
            delay += random.choice((0.05, 0.3, 1.0))
        at = world.now + delay
        heals = self._cuts.get(frozenset((_machine(source), _machine(target))), 0.0)
        if heals > world.now:
            if not reliable and random.random() < 0.5:
                return
            at = heals + delay
        elif not reliable and self.loss and random.random() < self.loss:
            world.faults["loss"] += 1
            return
        at = self._last[source, target] = max(at, self._last.get((source, target), 0.0) + 1e-6)

        def leave() -> None:
            if source.suspended_until > world.now:
                world.at(source.suspended_until, leave, target)
            else:
                arrive()

        world.at(at, leave, target)


def _machine(process: Process) -> str:
    """The machine that a process is on: hosts of tasks are named worker/run."""
    return process.name.partition("/")[0]
