"""A real source plugin that does what tests order: counts, prints, hangs, fails, or ends its process."""

import ctypes
import logging
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem, SystemAway
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.source import Plan, Signal, Source, SourceTask


def _hang() -> None:
    sys.stdout.write("hangs as ordered\n")
    sys.stdout.flush()
    while True:
        time.sleep(3600)


def _exit() -> None:
    os._exit(7)


def _crash() -> None:
    ctypes.string_at(0)


def _fail() -> None:
    msg = "failed as ordered"
    raise RuntimeError(msg)


def _give_up() -> None:
    msg = "gave up as ordered"
    raise PermanentError(msg)


def _chatter() -> None:
    for number in range(100_000):
        sys.stdout.write(f"chatter {number}\n")


def _stay_behind() -> None:
    child = subprocess.Popen(["sleep", "600"])
    sys.stdout.write(f"child {child.pid}\n")


def _say() -> None:
    logger = logging.getLogger("org.library")
    try:
        _fail()
    except RuntimeError:
        logger.exception('a "quoted"\nmessage\x1b[31m </script>')
    warnings.warn("deprecated as ordered", stacklevel=1)
    thread = threading.Thread(target=_fail, name="of a library")
    thread.start()
    thread.join()
    sys.stdout.write('{"level": "forged"}\n\x1enot a record\n')


ORDERS: Mapping[str, Callable[[], None]] = {
    "hang": _hang,
    "exit": _exit,
    "crash": _crash,
    "fail": _fail,
    "give up": _give_up,
    "chatter": _chatter,
    "stay behind": _stay_behind,
    "say": _say,
}


class MonitorableSource(Source):
    """A source for tests: counts from 1, and does at each step what it is ordered."""

    name = "monitorable_source"
    aliases = ("org.example.MonitorableSource",)
    options = (
        Option("on.check", "What to do when it is checked.", default="", choices=("", *ORDERS)),
        Option("on.plan", "What to do when it plans.", default="", choices=("", *ORDERS)),
        Option("on.open", "What to do when a task is opened.", default="", choices=("", *ORDERS)),
        Option("once", "A file: the order of on.open is obeyed only while it is not there, and makes it.", default=""),
        Option(
            "shares",
            "A file that begins with a number of tasks to plan; a task that sees another content asks for a plan.",
            default="",
        ),
        Option("records", "How many records each task gives.", Kind.INT, "0"),
        Option("on.deleted", "A file, which says with a line how often it was cleaned up.", default=""),
        Option("obstacle", "A file: as long as it is there, cleaning up fails, or hangs if it says so.", default=""),
        Option("password", "A secret.", secret=True),
        Option("shout", "Print the password when a task is opened.", Kind.BOOL, "false"),
    )

    signals = (
        Signal(
            "more",
            "Gives so many records more.",
            (
                Option("records", "How many.", Kind.INT, required=True, minimum=1),
                Option("how", "What to do then.", default="", choices=("", *ORDERS)),
            ),
        ),
    )

    def check(self, config: Config) -> Iterable[Problem]:
        _obey(config["on.check"])
        if config["records"] < 0:
            yield Problem("records", str(config["records"]), "is negative", "Give 0 or more.")

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        _obey(config["on.plan"])
        if config["shares"]:
            if not Path(config["shares"]).exists():
                msg = f"nobody says yet how many shares there are: {config['shares']}"
                raise SystemAway(msg)
            planned = int(Path(config["shares"]).read_text().split()[0])
            return Plan([{"share": str(number)} for number in range(planned)])
        return Plan([{"share": str(number)} for number in range(max_tasks)], replan_after=3600)

    def deleted(self, config: Config, connector_uid: str) -> None:
        if config["obstacle"] and Path(config["obstacle"]).exists():
            if Path(config["obstacle"]).read_text() == "hang":
                Path(config["obstacle"]).write_text("hanging")
                _hang()
            msg = f"{config['obstacle']} is in the way"
            raise SystemAway(msg)
        if config["on.deleted"]:
            with Path(config["on.deleted"]).open("a") as file:
                file.write(f"{time.time()}\n")

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> SourceTask:
        if config["shout"]:
            sys.stdout.write(f"the password is {config['password']}\n")
            context.log.warning("the password is %s", config["password"])
            msg = f"the password {config['password']} is wrong"
            raise PermanentError(msg)
        once = config["once"]
        if not once or not Path(once).exists():
            if once:
                Path(once).touch()
            _obey(config["on.open"])
        shares = Path(config["shares"]) if config["shares"] else None
        return _Task(f"part-{task['share']}", config["records"], shares, task["tasks"], context)


class _Task(SourceTask):
    def __init__(self, partition: str, records: int, shares: Path | None, tasks: str, context: TaskContext) -> None:
        self._partition = partition
        self._records = records
        self._shares = shares
        self._seen = tasks
        self._context = context
        self._next = 0

    def start(self, positions: Mapping[str, Position]) -> None:
        self._next = positions[self._partition].offset[0] if self._partition in positions else 0

    def poll(self) -> SourceBatch | None:
        if self._shares is not None and (there := self._shares.read_text()) != self._seen:
            self._seen = there
            self._context.replan()
        count = min(100, self._records - self._next)
        if count <= 0:
            return None
        numbers = range(self._next + 1, self._next + count + 1)
        self._next += count
        return SourceBatch(self._partition, [f"{self._partition} {number}" for number in numbers], [(n,) for n in numbers])

    def signal(self, name: str, arguments: Mapping[str, str]) -> str:
        _obey(arguments.get("how", ""))
        self._records += int(arguments["records"])
        self._context.log.debug("%s was told", self._partition)
        logging.getLogger("a.library").debug("%s was heard", self._partition)
        return f"{name}: {self._records} records"

    def close(self) -> None:
        return


def _obey(order: str) -> None:
    if order:
        ORDERS[order]()
