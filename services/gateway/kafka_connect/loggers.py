"""What Kafka Connect's paths of loggers do, done by all processes."""

from collections.abc import Mapping
from typing import Any

from rocketconnect.logging.v1 import logging_service_pb2 as logging

from services.gateway.backends import Backends
from services.gateway.kafka_connect.shapes import Json
from services.gateway.kafka_connect.words import bad_request

_LOGGING = logging.DESCRIPTOR.services_by_name["LoggingService"].methods_by_name
_LEVELS = {"TRACE": "DEBUG", "DEBUG": "DEBUG", "INFO": "INFO", "WARN": "WARNING", "ERROR": "ERROR", "FATAL": "ERROR"}
_THEIRS = {"DEBUG": "DEBUG", "INFO": "INFO", "WARNING": "WARN", "ERROR": "ERROR"}


class Loggers:
    """Levels of loggers in the shapes of Kafka Connect: of all processes the one that logs most counts. All raise ServiceError."""

    def __init__(self, backends: Backends) -> None:
        self._backends = backends

    async def all(self) -> Mapping[str, Json]:
        """Return the level of root, and of each logger that was given one."""
        request = logging.GetLogLevelsRequest()
        answer = await self._backends.ask(_LOGGING["GetLogLevels"], request, logging.GetLogLevelsResponse)
        found: dict[str, int] = {}
        for each in (level for process in answer.processes for level in process.levels if not level.connector):
            found[each.logger] = min(each.level, found.get(each.logger, each.level))
        return {name: _level(level) for name, level in sorted(found.items())}

    async def of(self, name: str) -> Json:
        """Return the level of a logger: its own, else that of the nearest one above it."""
        found = await self.all()
        while name not in found and "." in name:
            name = name.rpartition(".")[0]
        return dict(found.get(name) or found.get("root") or _level(logging.LOG_LEVEL_INFO))

    async def set(self, name: str, body: Any) -> list[str]:
        """Set the level of a logger in all processes; return its name in a list."""
        given = body.get("level") if isinstance(body, dict) else None
        level = _LEVELS.get(str(given).upper()) if given is not None else None
        if level is None:
            raise bad_request(
                "LEVEL_INVALID", f'Send {{"level": LEVEL}} with one of {", ".join(_LEVELS)}; {str(given)[:100]!r} is none'
            )
        request = logging.SetLogLevelRequest(logger=name, level=logging.LogLevel.Value(f"LOG_LEVEL_{level}"))
        await self._backends.ask(_LOGGING["SetLogLevel"], request, logging.SetLogLevelResponse, reads=False)
        return [name]


def _level(level: int) -> Json:
    name = logging.LogLevel.Name(level).removeprefix("LOG_LEVEL_")  # type: ignore[arg-type]
    return {"level": _THEIRS.get(name, "INFO"), "last_modified": None}
