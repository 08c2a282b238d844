"""Structured logs on standard error, as JSON for machines or in columns for people, without secrets (invariant 6)."""

import json
import logging
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

_SECRET_KEY = re.compile(r"secret|password|passwd|token|credential|api[_.-]?key|access[_.-]?key|authorization", re.IGNORECASE)
_URL_PASSWORD = re.compile(r"(?P<head>[a-z][a-z0-9+.-]*://[^\s:/@]*:)[^\s@/]+(?=@)", re.IGNORECASE)
_HIDDEN = "***"
_NEEDS_QUOTES = re.compile(r"[\s=\"']|^$")


class Logger:
    """Says what happens: `log.info("what happened", key=value, ...)`."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, event: str, **fields: object) -> None:
        """What helps to find a fault."""
        self._say(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: object) -> None:
        """What happens in good order."""
        self._say(logging.INFO, event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """What somebody should know of, and what mends itself."""
        self._say(logging.WARNING, event, fields)

    def error(self, event: str, **fields: object) -> None:
        """What somebody has to mend."""
        self._say(logging.ERROR, event, fields)

    def exception(self, event: str, **fields: object) -> None:
        """An error with the traceback of the exception that is being handled."""
        self._say(logging.ERROR, event, fields, sys.exception())

    def critical(self, event: str, *, exc_info: BaseException | None = None, **fields: object) -> None:
        """What the process ends for, with the traceback of this exception."""
        self._say(logging.CRITICAL, event, fields, exc_info)

    def _say(self, level: int, event: str, fields: Mapping[str, object], error: BaseException | None = None) -> None:
        if self._logger.isEnabledFor(level):
            self._logger.log(level, event, exc_info=error, extra={"fields": fields})


def get_logger(name: str) -> Logger:
    """Return the logger of a module."""
    return Logger(name)


def configure(service: str, level: str = "INFO", form: Literal["json", "text"] = "text") -> None:
    """Send all logs of the process, those of libraries included, to standard error. May be called again."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter(service) if form == "json" else _TextFormatter(service))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # Alembic tells each migration step at INFO; its summary is ours to log.
    logging.getLogger("alembic").setLevel(logging.WARNING)


class _Formatter(logging.Formatter):
    """What the forms have in common."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._service = service

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        """What a record says besides event, level, time and traceback, without secrets."""
        return redact({"service": self._service, **getattr(record, "fields", {})})

    def traceback(self, record: logging.LogRecord) -> str:
        """The traceback, without the values of local variables, which may be secret; empty when there is none."""
        return hide_url_passwords(self.formatException(record.exc_info)) if record.exc_info else ""


class _JsonFormatter(_Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "timestamp": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": hide_url_passwords(record.getMessage()),
            **self.fields(record),
        }
        if traceback := self.traceback(record):
            line["exception"] = traceback
        return json.dumps(line, default=repr)


class _TextFormatter(_Formatter):
    def format(self, record: logging.LogRecord) -> str:
        event = hide_url_passwords(record.getMessage())
        said = " ".join(f"{key}={_quoted(value)}" for key, value in sorted(self.fields(record).items()))
        line = f"{_time(record)} [{record.levelname.lower():9}] {event:30} [{record.name}] {said}"
        traceback = self.traceback(record)
        return f"{line}\n{traceback}" if traceback else line


def redact(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with values hidden under keys that sound secret, at any depth, and passwords in URLs."""
    return {key: _HIDDEN if _SECRET_KEY.search(str(key)) else _clean(value) for key, value in fields.items()}


def hide_url_passwords(text: str) -> str:
    """Return the text with the password of every URL in it hidden."""
    return _URL_PASSWORD.sub(rf"\g<head>{_HIDDEN}", text)


def _clean(value: object) -> object:
    match value:
        case str():
            return hide_url_passwords(value)
        case dict():
            return redact(value)
        case list() | tuple():
            return [_clean(item) for item in value]
        case _:
            return value


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z")


def _quoted(value: object) -> str:
    text = str(value)
    return repr(text) if _NEEDS_QUOTES.search(text) else text
