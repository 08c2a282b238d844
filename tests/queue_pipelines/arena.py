"""`rocketconnect up` with two executors beside the servers of a pipeline; and what is killed of all of it."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import TypeVar

import psutil

from rocketconnect_cli.api import Api
from rocketconnect_cli.states import State, state_name
from tests.chaos.deployments.instance import Instance
from tests.chaos.deployments.processes import find, send, with_children
from tests.queue_pipelines.pipeline import EXECUTOR, TASK, Pipeline

_HANG_SECONDS = 300.0
_TICK_SECONDS = 0.1
_LOOKS_EACH = 10
"""So many ticks."""
_Found = TypeVar("_Found")


class Arena:
    """All of it, running. For the main thread.

    Args:
        pipeline: Was started.
        instance: Runs.
        api: Of the instance.
        chance: Decides who is hit of several.
    """

    def __init__(self, pipeline: Pipeline, instance: Instance, api: Api, chance: Random) -> None:
        self._pipeline = pipeline
        self._instance = instance
        self._api = api
        self._chance = chance

    @classmethod
    @contextmanager
    def running(cls, pipeline: Pipeline, folder: Path, chance: Random) -> "Iterator[Arena]":
        """Starts everything, makes the connectors, and ends everything behind the block.

        Args:
            pipeline: What runs.
            folder: For everything that the instance keeps.
            chance: See Arena.
        """
        with ExitStack() as stack:
            pipeline.start(stack)
            instance = Instance(folder, folder / "data", executors=2)
            stack.callback(instance.close)
            instance.start()
            pipeline.attach(stack, instance.name_server)
            api = stack.enter_context(Api(instance.rest))
            for name, config in pipeline.connectors().items():
                api.request("POST", "/v1/connectors", body={"name": name, "config": dict(config)})
            yield cls(pipeline, instance, api, chance)

    def kill(self, victim: str) -> None:
        """Kills one with SIGKILL. Servers are there again when it returns; the rest the instance starts again by itself."""
        if (server := self._pipeline.servers.get(victim)) is not None:
            server.restart()
            return
        there = self.until(lambda: self._victims(victim), f"there is a {victim}")
        # Of tasks the one that runs for the longest time: the next time it is another one.
        process = there[0] if victim == TASK else self._chance.choice(there)
        send(with_children(process), signal.SIGKILL)

    def until(self, found: Callable[[], _Found], what: str) -> _Found:
        """Waits for something that is true, and gives it; looks after the instance meanwhile.

        Raises:
            TimeoutError: it takes so long that it hangs.
        """
        deadline = time.monotonic() + _HANG_SECONDS
        while not (it := found()):
            if time.monotonic() > deadline:
                msg = f"it takes too long until {what}: {self.states()}"
                raise TimeoutError(msg)
            self.spend(_LOOKS_EACH * _TICK_SECONDS)
        return it

    def spend(self, seconds: float) -> None:
        """Lets time pass."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._instance.look_after()
            time.sleep(_TICK_SECONDS)

    def is_idle(self) -> bool:
        """Whether all connectors have nothing to do."""
        states = self._api.request("GET", "/v1/states")["states"]
        return len(states) == len(self._pipeline.connectors()) and all(state_name(state) == State.IDLE for state in states)

    def states(self) -> str:
        """What the tasks are doing, for people."""
        states = self._api.request("GET", "/v1/states")["states"]
        tasks = [(state["connector"], task) for state in states for task in state["tasks"]]
        return "; ".join(f"{name}: {state_name(task)} {task.get('trace', '')[:500]}" for name, task in tasks)

    @staticmethod
    def _victims(role: str) -> list[psutil.Process]:
        found = find(role)
        if role != EXECUTOR:
            return found
        busy = {parent.pid for host in find(TASK) for parent in host.parents()}
        return [process for process in found if process.pid in busy]
