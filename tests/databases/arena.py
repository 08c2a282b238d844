"""Everything that takes part: servers, `rocketconnect up`, connectors; and what is killed."""

import os
import signal
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from typing import Any, Self

from rocketconnect_cli.api import Api, ApiError
from rocketconnect_cli.instance.process import Process
from tests.chaos.deployments.instance import Instance
from tests.chaos.deployments.processes import find, leave_out_running, living, send, with_children
from tests.databases.load import Load
from tests.databases.part import Part
from tests.databases.side import Side

_READY_SECONDS = 300.0


class Arena(ABC):
    """All of it, running. For the main thread: children die with the thread that starts them.

    Args:
        folder: For everything that it keeps.
        source: What is copied.
        parts: The servers, that of the source among them.

    Attributes:
        victims: The roles of processes that are killed, beside the servers.
        source: As given.
        kills: How often what was killed.
    """

    victims: Sequence[str] = ("native-host", "executor", "broker")

    def __init__(self, folder: Path, source: Side, parts: Sequence[Part]) -> None:
        leave_out_running()
        self.kills: Counter[str] = Counter()
        self.folder = folder
        self.source = source
        self._stack = ExitStack()
        self._parts = {part.name: part for part in parts}
        for part in parts:
            self._stack.callback(part.remove)
        self._servers = {
            part.name: Process(part.name, part.command, os.environ, folder / f"{part.name}.log", 0, 60.0, folder=part.folder)
            for part in parts
        }
        for server in self._servers.values():
            self._stack.callback(server.kill)
        self.instance = Instance(folder, folder / "data", executors=2)
        self._stack.callback(self.instance.close)

    def __enter__(self) -> Self:
        """Starts everything, and makes the databases."""
        try:
            for server in self._servers.values():
                server.start()
            for name, part in self._parts.items():
                self.wait(name, part.is_ready)
                part.make()
            self.instance.start()
            self.api = self._stack.enter_context(Api(self.instance.rest))
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Ends everything."""
        self._stack.close()

    @property
    @abstractmethod
    def connectors(self) -> Mapping[str, Mapping[str, str]]:
        """The configurations of all connectors, by name."""

    @abstractmethod
    def compare(self, load: Load) -> Mapping[str, int]:
        """How many rows all have that are to have them, by table.

        Raises:
            Difference: a row or a value is another one.
        """

    @abstractmethod
    def is_away(self, error: BaseException) -> bool:
        """Whether a comparison failed since somebody was away, or is behind."""

    def copy(self) -> None:
        """Makes the connectors."""
        for name, config in self.connectors.items():
            self.api.request("POST", "/v1/connectors", body={"name": name, "config": dict(config)})

    def look_after(self) -> None:
        """Starts again what has died. To be called all the time."""
        self.instance.look_after()
        self._revive()

    def _revive(self) -> None:
        now = time.monotonic()
        for server in self._servers.values():
            server.revive(now)

    def kill(self, chance: Random) -> str:
        """Kills something that was killed least often of all that is there, or ends a server in another way; says what."""
        there = {role for role, _ in living()} | {name for name, server in self._servers.items() if server.pid is not None}
        left = [name for name in (*self.victims, *self._servers) if name in there]
        victim = chance.choice([name for name in left if self.kills[name] == min(self.kills[other] for other in left)])
        self.kills[victim] += 1
        pid = self._servers[victim].pid if victim in self._servers else None
        if pid is not None:
            number = chance.choice((signal.SIGKILL, self._parts[victim].stop))
            os.kill(pid, number)
            return f"{victim} {number.name}"
        send(with_children(chance.choice(find(victim))), signal.SIGKILL)
        return victim

    def states(self) -> str:
        """What the tasks are doing, for people."""
        return "; ".join(f"{name}: {task['state']} {task['trace'][:500]}" for name, task in self._tasks())

    @property
    def has_failed(self) -> bool:
        """Whether a task goes on only when somebody restarts it."""
        with suppress(ApiError):
            return any(task["state"] == "STATE_FAILED" for _, task in self._tasks())
        return False

    def _tasks(self) -> list[tuple[str, Any]]:
        states = self.api.request("GET", "/v1/states")["states"]
        return [(state["connector"], task) for state in states for task in state["tasks"]]

    def wait(self, what: str, true: Callable[[], bool]) -> None:
        """Waits until it is true, while servers that have died are started again.

        Raises:
            TimeoutError
        """
        deadline = time.monotonic() + _READY_SECONDS
        while not true():
            self._revive()
            if time.monotonic() > deadline:
                msg = f"{what} does not answer; see {self.folder}"
                raise TimeoutError(msg)
            time.sleep(0.1)
