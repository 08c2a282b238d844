"""Everything that takes part: two databases, `rocketconnect up`, two connectors; and what is killed."""

import os
import re
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Self

from rocketconnect_cli.api import Api
from rocketconnect_cli.instance.process import Process
from rocketmq_remoting import Client, NameServersUnavailable
from tests.chaos.deployments.instance import Instance
from tests.chaos.deployments.processes import find, leave_out_running, living, send, with_children
from tests.databases.side import DATABASE, Side

SOURCE, SINK = "databases-source", "databases-sink"
VICTIMS = ("native-host", "spark-driver", "spark-java", "executor", "broker", "mariadb", "postgres")
_READY_SECONDS = 300.0


class Arena:
    """All of it, running. For the main thread: children die with the thread that starts them.

    Args:
        folder: For everything that it keeps.
        source: What is copied.
        sink: The copy.

    Attributes:
        source: As given.
        sink: As given.
        kills: How often what was killed.
    """

    def __init__(self, folder: Path, source: Side, sink: Side) -> None:
        leave_out_running()
        self.kills: dict[str, int] = {}
        self._stack = ExitStack()
        self._folder = folder
        self.source, self.sink = source, sink
        self._sides = {side.name: side for side in (source, sink)}
        for side in self._sides.values():
            self._stack.callback(side.remove)
        self._servers = {
            name: Process(name, side.command, {}, folder / f"{name}.log", 0, 60.0) for name, side in self._sides.items()
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
            for name, side in self._sides.items():
                self._wait(name, side.is_ready)
                side.make()
            self.instance.start()
            self.api = self._stack.enter_context(Api(self.instance.rest))
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Ends everything."""
        self._stack.close()

    def copy(self) -> None:
        """Makes the two connectors."""
        topics = {table.name: f"{DATABASE}-{table.name}" for table in self.source.tables}
        self._make_topic(topics[self.source.tables.drafts.name])
        dead = {
            "errors.tolerance": "all",
            "errors.log.enable": "false",
            "key.converter": "json",
            "value.converter": "json",
        }
        source = {
            **dead,
            **self.source.as_source(),
            "topic": DATABASE,
            "table.topic": "${topic}-${table}",
            "errors.deadletterqueue.topic.name": "source-dead",
        }
        sink = {
            **dead,
            **self.sink.as_sink(),
            "connector.class": "jdbc_sink",
            "engine": "spark",
            "topics": ",".join(topics.values()),
            "table.name.format": "${table}",
            "table.name.allowed": ".*",
            "insert.mode": "upsert",
            "pk.mode": "record_key",
            "delete.enabled": "true",
            "truncate.enabled": "true",
            "auto.create": "true",
            "schema.evolution": "evolve",
            "errors.deadletterqueue.topic.name": "sink-dead",
        }
        for name, config in ((SOURCE, source), (SINK, sink)):
            self.api.request("POST", "/v1/connectors", body={"name": name, "config": config})

    def _make_topic(self, topic: str) -> None:
        """With one queue, in which a truncation is in order with the rows."""

        def is_made() -> bool:
            try:
                client.create_topic(topic, queues=1)
            except NameServersUnavailable:
                return False
            return True

        with Client(self.instance.name_server) as client:
            self._wait("the broker", is_made)

    def look_after(self) -> None:
        """Starts again what has died. To be called all the time."""
        self.instance.look_after()
        self._revive()

    def _revive(self) -> None:
        now = time.monotonic()
        for server in self._servers.values():
            server.revive(now)

    def kill(self, chance: Random) -> str:
        """Kills something, or restarts a database in good order; says what."""
        there = {role for role, _ in living()} | set(self._servers)
        victim = chance.choice([name for name in VICTIMS if name in there])
        if victim in self._servers:
            number = chance.choice((signal.SIGKILL, self._sides[victim].stop))
            pid = self._servers[victim].pid
            if pid is not None:
                os.kill(pid, number)
            told = f"{victim} {number.name}"
        else:
            process = chance.choice(find(victim))
            send(with_children(process), signal.SIGKILL)
            told = victim
        self.kills[told] = self.kills.get(told, 0) + 1
        return told

    def dead_letters(self) -> set[int]:
        """The ids in the keys of all dead letters."""
        letters = [
            letter for name in (SOURCE, SINK) for letter in self.api.pages(f"/v1/connectors/{name}/deadLetters", "deadLetters")
        ]
        return {int(found[1]) for letter in letters if (found := re.search(r'"id":\s*(\d+)', letter.get("key", "")))}

    def states(self) -> str:
        """What the tasks are doing, for people."""
        states = self.api.request("GET", "/v1/states")["states"]
        tasks = [(state["connector"], task) for state in states for task in state["tasks"]]
        return "; ".join(f"{name}: {task['state']} {task['trace'][:500]}" for name, task in tasks)

    def _wait(self, what: str, true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while not true():
            self._revive()
            if time.monotonic() > deadline:
                msg = f"{what} does not answer; see {self._folder}"
                raise TimeoutError(msg)
            time.sleep(0.1)
