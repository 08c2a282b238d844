"""Levels of loggers that are changed while the process runs. A restart forgets them."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from google.protobuf.timestamp_pb2 import Timestamp
from rocketconnect.logging.v1 import logging_service_pb2 as pb
from rocketconnect.logging.v1.logging_service_pb2_grpc import LoggingServiceServicer

from rocketconnect_kit import logs
from rocketconnect_kit.errors import FieldProblem, InvalidArgument
from rocketconnect_kit.logs import ROOT, get_logger
from rocketconnect_kit.serving.interception import ServicerContext

MOST = 100
"""So many loggers of one process have a level of their own."""
_LONGEST_NAME = 200
_LONGEST_SECONDS = 7 * 86400
_NUMBERS = {
    pb.LOG_LEVEL_DEBUG: logging.DEBUG,
    pb.LOG_LEVEL_INFO: logging.INFO,
    pb.LOG_LEVEL_WARNING: logging.WARNING,
    pb.LOG_LEVEL_ERROR: logging.ERROR,
}
_log = get_logger(__name__)


class Told(NamedTuple):
    """A level that was set: of a logger, for one connector or (empty) for all."""

    connector: str
    logger: str
    level: int


@dataclass(slots=True)
class _Set:
    """How long a level stays, and what was before it."""

    level: int
    before: int
    until: float | None
    timer: asyncio.TimerHandle | None


class Levels:
    """Those of this process. For one event loop.

    Args:
        on_change: Called with all that are set now, when that has changed.
    """

    def __init__(self, on_change: Callable[[Sequence[Told]], None] = lambda _: None) -> None:
        self._on_change = on_change
        self._set: dict[tuple[str, str], _Set] = {}

    def set(self, logger: str, level: int | None, connector: str = "", seconds: float = 0) -> None:
        """Set the level of a logger.

        Args:
            logger: Its name; "root": of all that have none of their own.
            level: Of the module logging; None: as when the process was started.
            connector: Only what is said of this one; empty: all.
            seconds: For so long; 0: until the process ends.

        Raises:
            InvalidArgument: TOO_MANY_LEVELS.
        """
        key = (connector, logger)
        there = self._set.pop(key, None)
        if there is not None and there.timer is not None:
            there.timer.cancel()
        if level is None:
            if there is not None and not connector:
                logging.getLogger(_name(logger)).setLevel(there.before)
        elif there is None and len(self._set) >= MOST:
            msg = f"{MOST} loggers have a level of their own already; give back one, or set that of a logger above them"
            raise InvalidArgument("TOO_MANY_LEVELS", msg)
        else:
            before = logging.getLogger(_name(logger)).level if there is None else there.before
            timer = asyncio.get_running_loop().call_later(seconds, self.set, logger, None, connector) if seconds else None
            self._set[key] = _Set(level, before, time.time() + seconds if seconds else None, timer)
            if not connector:
                logging.getLogger(_name(logger)).setLevel(level)
        _log.info("level of a logger", of=logger, connector=connector or "all", now=_word(level), seconds=seconds)
        logs.say_from({key: each.level for key, each in self._set.items()})
        self._on_change([Told(*key, each.level) for key, each in self._set.items()])

    def shown(self) -> list[pb.LoggerLevel]:
        """That of all, and those that were set."""
        shown = [_shown(logger, each.level, connector, each.until) for (connector, logger), each in sorted(self._set.items())]
        return shown if ("", ROOT) in self._set else [_shown(ROOT, logging.getLogger().level), *shown]


class LoggingService(LoggingServiceServicer):
    """See logging_service.proto; answers for this process alone.

    Args:
        service: Which it is.
        levels: Its levels.
        worker_id: Tells which executor it is; empty: it is none.
    """

    def __init__(self, service: str, levels: Levels, worker_id: Callable[[], str] = str) -> None:
        self._service = service
        self._levels = levels
        self._worker_id = worker_id

    async def SetLogLevel(self, request: pb.SetLogLevelRequest, context: "ServicerContext | None") -> pb.SetLogLevelResponse:
        """Set it in this process."""
        del context
        check(request)
        seconds = request.lasts.ToTimedelta().total_seconds() if request.HasField("lasts") else 0
        self._levels.set(request.logger, _NUMBERS.get(request.level), request.connector, seconds)
        return pb.SetLogLevelResponse(processes=[self._process()])

    async def GetLogLevels(self, request: pb.GetLogLevelsRequest, context: "ServicerContext | None") -> pb.GetLogLevelsResponse:
        """Those of this process."""
        del request, context
        return pb.GetLogLevelsResponse(processes=[self._process()])

    def _process(self) -> pb.ProcessLevels:
        return pb.ProcessLevels(service=self._service, worker_id=self._worker_id(), levels=self._levels.shown())


def check(request: pb.SetLogLevelRequest) -> None:
    """Refuse what can't be set anywhere.

    Raises:
        InvalidArgument: LEVEL_INVALID, with everything that is wrong.
    """
    problems = []
    name = request.logger
    if not name or len(name) > _LONGEST_NAME or not name.isprintable() or ".." in f".{name}.":
        fix = f"give {ROOT}, or the name of a module such as services.config; at most {_LONGEST_NAME} characters"
        problems.append(FieldProblem("logger", name[:_LONGEST_NAME], "is no name of a logger", fix))
    if request.level != pb.LOG_LEVEL_UNSPECIFIED and request.level not in _NUMBERS:
        problems.append(FieldProblem("level", str(request.level), "is no level", "give DEBUG, INFO, WARNING or ERROR"))
    if request.HasField("lasts"):
        seconds = request.lasts.seconds + request.lasts.nanos / 1e9
        if not 1 <= seconds <= _LONGEST_SECONDS:
            problems.append(FieldProblem("lasts", f"{seconds:g}s", "is out of range", "give 1 second to 7 days, or none"))
    if request.connector and request.service not in ("", "executor"):
        fix = "leave out the service, or the connector"
        problems.append(FieldProblem("service", request.service, "runs no tasks of a connector", fix))
    if request.worker_id and request.service not in ("", "executor"):
        problems.append(FieldProblem("service", request.service, "has no workers", "leave out the service, or the worker"))
    if problems:
        raise InvalidArgument("LEVEL_INVALID", "; ".join(map(str, problems)), problems)


def _name(logger: str) -> str | None:
    return None if logger == ROOT else logger


def _word(level: int | None) -> str:
    return "as at the start" if level is None else logging.getLevelName(level)


def _shown(logger: str, level: int, connector: str = "", until: float | None = None) -> pb.LoggerLevel:
    # A process may have been started with a level in between.
    nearest = max((number for number in _NUMBERS.values() if number <= level), default=logging.DEBUG)
    enum = next(each for each, number in _NUMBERS.items() if number == nearest)
    shown = pb.LoggerLevel(logger=logger, level=enum, connector=connector)
    if until is not None:
        moment = Timestamp()
        moment.FromNanoseconds(int(until * 1e9))
        shown.until.CopyFrom(moment)
    return shown
