"""Values as targets have them, made what they were in the table that is copied. Pure.

Nothing of the product is used: the forms are those of docs/elasticsearch.md, docs/redis.md, docs/hudi.md and docs/jdbc-sink.md.
"""

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from tests.databases.tables import Column, of_day


class Unfit(ValueError):
    """No value of that type."""


def found(column: Column) -> Callable[[Any], Any]:
    """What makes a value of a target one of a column of the source."""
    return _MADE.get(column.kind.replace("(", " ").split()[0], _text)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        msg = f"{value!r} is no text"
        raise Unfit(msg)
    return value


def _flag(value: Any) -> bool:
    return {"true": True, "false": False}[value] if isinstance(value, str) else bool(value)


def _day(value: Any) -> date:
    return date.fromisoformat(value) if isinstance(value, str) else value


def _clock(value: Any) -> time:
    """Hudi has microseconds, databases a span."""
    if isinstance(value, str):
        return time.fromisoformat(value)
    made: time = of_day(timedelta(microseconds=value) if isinstance(value, int) else value)
    return made


def _shown(value: Any) -> datetime:
    """As a clock shows it, without a zone."""
    made = datetime.fromisoformat(value) if isinstance(value, str) else value
    if made.tzinfo is not None:
        msg = f"{value!r} has a zone"
        raise Unfit(msg)
    return made


def _moment(value: Any) -> datetime:
    """In UTC, where it has no zone."""
    made: datetime = datetime.fromisoformat(value) if isinstance(value, str) else value
    return made.replace(tzinfo=UTC) if made.tzinfo is None else made.astimezone(UTC)


def _bytes(value: Any) -> bytes:
    return b64decode(value, validate=True) if isinstance(value, str) else bytes(value)


def _json(value: Any) -> Any:
    """Numbers are doubles, as those of the source are."""
    return json.loads(value if isinstance(value, str) else json.dumps(value, default=float))


_MADE: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("SMALLINT", "INT", "BIGINT"), int),
    "DECIMAL": Decimal,
    "DOUBLE": float,
    "BIT": _flag,
    "DATE": _day,
    "TIME": _clock,
    "DATETIME": _shown,
    "TIMESTAMP": _moment,
    "VARBINARY": _bytes,
    "JSON": _json,
    "UUID": lambda value: UUID(str(value)),
}
