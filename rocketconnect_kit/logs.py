"""Structured logs on standard error, as JSON for machines or in columns for people, without secrets (invariant 6)."""

import json
import logging
import math
import re
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

_SECRET_KEY = re.compile(r"secret|password|passwd|token|credential|api[_.-]?key|access[_.-]?key|authorization", re.IGNORECASE)
_URL_PASSWORD = re.compile(r"(?P<head>[a-z][a-z0-9+.-]*://[^\s:/@]*:)[^\s@/]+(?=@)", re.IGNORECASE)
_HIDDEN = "***"
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_NEEDS_QUOTES = re.compile(rf"[\s=\"']|{_CONTROLS.pattern}|^$")
_DEEPEST = 8
"""Values that are nested deeper are left out."""
_OWN = ("time", "level", "logger", "message", "exception")
"""Names in JSON that no field of a record takes."""

ROOT = "root"
"""How the logger above all is called where levels are set."""

_always: dict[str, object] = {}
_least: Mapping[tuple[str, str], int] = {}
_asked: Callable[[], Mapping[str, object]] = dict


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


def say_always(**fields: object) -> None:
    """Have each line of this process say these from now on, besides its own."""
    _always.update(fields)


def ask_always(source: Callable[[], Mapping[str, object]]) -> None:
    """Have each line say what this gives for the thread that logs it; in the place of what was asked before."""
    global _asked  # noqa: PLW0603 - as the module logging: one for the process
    _asked = source


def say_from(levels: Mapping[tuple[str, str], int]) -> None:
    """Pass on from these levels on what other processes say; in the place of those that were told before.

    Args:
        levels: By connector (empty: all) and logger ("root": all): the least of the module logging.
    """
    global _least  # noqa: PLW0603 - as the module logging: one for the process
    _least = levels


def told_level(levels: Mapping[tuple[str, str], int], logger: str, connector: str, *, root: bool = True) -> int | None:
    """The level that was set for what a logger says of a connector; None: none was.

    Args:
        levels: As those of `say_from`.
        logger: Its name. What was set for a logger above it counts where it has none.
        connector: Whose line it is; empty: nobody's. What was set for it counts before what was set for all.
        root: Whether what was set for all loggers of all connectors counts.
    """
    for whose in dict.fromkeys((connector, "")):
        name = logger
        while name:
            if (level := levels.get((whose, name))) is not None:
                return level
            name = name.rpartition(".")[0]
        if (whose or root) and (level := levels.get((whose, ROOT))) is not None:
            return level
    return None


def pass_on(
    logger: str, level: int, message: str, /, *, created: float | None = None, exception: str = "", **fields: object
) -> None:
    """Log what another process has said, under its logger, so that no loggers of other processes are kept here.

    Args:
        logger: Who said it there.
        level: Of the module logging.
        message: What was said.
        created: When, in seconds since 1970; None: now.
        exception: A traceback as text.
        fields: What is known besides.
    """
    root = logging.getLogger()
    least = told_level(_least, logger, str(fields.get("connector", ""))) if _least else None
    if root.isEnabledFor(level) if least is None else level >= least:
        said = {"name": logger, "levelno": level, "levelname": logging.getLevelName(level), "msg": message, "fields": fields}
        record = logging.makeLogRecord({**said, "exc_text": exception or None})
        record.created = record.created if created is None else created
        root.handle(record)


def configure(service: str, level: str = "INFO", form: Literal["json", "text"] = "text") -> None:
    """Send all logs of the process, those of libraries included, to standard error. May be called again."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter(service) if form == "json" else _TextFormatter(service))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)


class _Formatter(logging.Formatter):
    """What the forms have in common."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._service = service

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        """What a record says besides event, level, time and traceback, without secrets."""
        return redact({"service": self._service, **_always, **_asked(), **getattr(record, "fields", {})})

    def traceback(self, record: logging.LogRecord) -> str:
        """The traceback, without the values of local variables, which may be secret; empty when there is none."""
        text = record.exc_text or (self.formatException(record.exc_info) if record.exc_info else "")
        return hide_url_passwords(text)


class _JsonFormatter(_Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": hide_url_passwords(record.getMessage()),
            **{f"{key}_" if key in _OWN else key: value for key, value in self.fields(record).items()},
        }
        if traceback := self.traceback(record):
            line["exception"] = traceback
        # Only ASCII: whatever a value has in it, no reader takes part of it for the end of a line.
        return json.dumps(_json(line), allow_nan=False)


class _TextFormatter(_Formatter):
    def format(self, record: logging.LogRecord) -> str:
        event = _one_line(hide_url_passwords(record.getMessage()))
        said = " ".join(f"{key}={_quoted(value)}" for key, value in sorted(self.fields(record).items()))
        line = f"{_time(record)} [{record.levelname.lower():9}] {event:30} [{_one_line(record.name)}] {said}"
        traceback = self.traceback(record)
        return f"{line}\n{traceback}" if traceback else line


def redact(fields: Mapping[Any, Any], depth: int = 0) -> dict[Any, Any]:
    """Return the fields with values hidden under keys that sound secret, and passwords in URLs; what is too deep is left out."""
    return {key: _HIDDEN if _SECRET_KEY.search(str(key)) else _clean(value, depth + 1) for key, value in fields.items()}


def hide_url_passwords(text: str) -> str:
    """Return the text with the password of every URL in it hidden."""
    return _URL_PASSWORD.sub(rf"\g<head>{_HIDDEN}", text)


def _clean(value: object, depth: int) -> object:
    match value:
        case str():
            return hide_url_passwords(value)
        case dict() | list() | tuple() if depth > _DEEPEST:
            return "..."
        case dict():
            return redact(value, depth)
        case list() | tuple():
            return [_clean(item, depth + 1) for item in value]
        case _:
            return value


def _json(value: object) -> object:
    """The value as JSON has it, whatever it is: what JSON does not know, as it shows itself."""
    match value:
        case bool() | int() | None:
            return value
        case float():
            return value if math.isfinite(value) else repr(value)
        case str():
            # Half of a pair of UTF-16 is no text to those who read JSON.
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {str(_json(str(key))): _json(item) for key, item in value.items()}
        case list():
            return [_json(item) for item in value]
        case _:
            return _json(hide_url_passwords(_shown(value, repr)))


def _shown(value: object, show: Callable[[object], str]) -> str:
    try:
        return show(value)
    except Exception as error:  # a line is said whatever is wrong with one of its values
        return f"<{type(value).__name__}: {type(error).__name__}>"


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _one_line(text: str) -> str:
    """The text so that nothing in it begins a line of its own, or tells a terminal anything; further lines are indented."""
    return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], text).replace("\n", "\n    ")


def _quoted(value: object) -> str:
    text = _shown(value, str)
    return repr(text) if _NEEDS_QUOTES.search(text) else text
