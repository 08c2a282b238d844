"""Structured logs on standard error, as JSON for machines or in columns for people, without secrets (invariant 6)."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Literal

import structlog

_SECRET_KEY = re.compile(r"secret|password|passwd|token|credential|api[_.-]?key|access[_.-]?key|authorization", re.IGNORECASE)
_URL_PASSWORD = re.compile(r"(?P<head>[a-z][a-z0-9+.-]*://[^\s:/@]*:)[^\s@/]+(?=@)", re.IGNORECASE)
_HIDDEN = "***"


def configure(service: str, level: str = "INFO", form: Literal["json", "text"] = "text") -> None:
    """Send all logs of the process, those of libraries included, to standard error. May be called again."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        redact,
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if form == "json"
        # Plain tracebacks: the pretty ones show local variables, which may hold secrets.
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback)
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # Alembic tells each migration step at INFO; its summary is ours to log.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            _add_service(service),
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return a logger: `log.info("what happened", key=value, ...)`. Before `configure` it writes as structlog does."""
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger


def redact(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Hide values under keys that sound secret, at any depth, and passwords in URLs (a structlog processor)."""
    for key, value in event.items():
        event[key] = _HIDDEN if _SECRET_KEY.search(key) else _clean(value)
    return event


def hide_url_passwords(text: str) -> str:
    """Return the text with the password of every URL in it hidden."""
    return _URL_PASSWORD.sub(rf"\g<head>{_HIDDEN}", text)


def _clean(value: object) -> object:
    match value:
        case str():
            return hide_url_passwords(value)
        case dict():
            return {key: _HIDDEN if _SECRET_KEY.search(str(key)) else _clean(item) for key, item in value.items()}
        case list() | tuple():
            return [_clean(item) for item in value]
        case _:
            return value


def _add_service(service: str) -> structlog.typing.Processor:
    def add(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event.setdefault("service", service)
        return event

    return add
