"""The requests and answers of Solr's update handler. Pure.

https://solr.apache.org/guide/8_11/uploading-data-with-index-handlers.html#json-formatted-index-updates
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.files.lines import to_json
from rocketconnect_sdk.writes import Op, Operation, as_text

REPLACE, UPDATE, CREATE = "replace", "update", "create"
METHODS = (REPLACE, UPDATE, CREATE)
MODIFIERS = ("set", "inc", "add", "add-distinct", "remove")
_ONCE = ("inc", "add")
"""What changes a document again when it is sent again."""
_VERSION = "_version_"
_ABSENT = -1
"""As a version: the document must not be there."""
_LONGEST_ID = 32_766
_LONGEST_NAME = 255
_SHOWN = 500


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """How operations are written.

    Attributes:
        method: One of METHODS.
        id_field: The unique key of the collections.
        modifiers: By field what `update` does with its value; `set` with all others.
        flat: An object within a document becomes fields with points in their names; otherwise it is JSON as text.
    """

    method: str = REPLACE
    id_field: str = "id"
    modifiers: Mapping[str, str] = field(default_factory=dict)
    flat: bool = False

    @property
    def is_alone(self) -> bool:
        """Whether a document must be in a request of its own, since sending it again changes it again."""
        return self.method == UPDATE and any(each in _ONCE for each in self.modifiers.values())


@lru_cache(maxsize=1_000)
def collection_problem(name: str) -> str | None:
    """What is wrong with the name of a collection; None: nothing."""
    if not name or len(name) > _LONGEST_NAME:
        return "has no character or more than 255"
    if name.startswith("-") or not all(each.isascii() and (each.isalnum() or each in "._-") for each in name) or set(name) == {"."}:
        return "has more than letters, digits, points, - and _, or begins with -"
    return None


def command_of(operation: Operation, writing: SinkSettings) -> bytes:
    """What is sent for an operation: a command without the braces around all of them.

    Raises:
        RecordError: it can't be sent so.
    """
    if (problem := collection_problem(operation.target)) is not None:
        msg = f"the collection {operation.target[:_LONGEST_NAME]!r} {problem}"
        raise RecordError(msg)
    if not operation.key or len(operation.key.encode()) > _LONGEST_ID:
        msg = f"its id has {len(operation.key.encode())} bytes, and 1 to {_LONGEST_ID} are allowed: {operation.key[:40]}"
        raise RecordError(msg)
    if operation.op is Op.DELETE:
        return b'"delete":%b' % to_json({"id": operation.key})
    return b'"add":%b' % to_json({"doc": _document(operation, writing)})


def _document(operation: Operation, writing: SinkSettings) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in operation.value.items():
        _put(fields, str(name), value, flat=writing.flat)
    fields.pop(_VERSION, None)
    given = fields.pop(writing.id_field, None)
    if given is not None and as_text(given) != operation.key:
        msg = f"its field {writing.id_field} is {as_text(given)[:40]!r}, and its id {operation.key[:40]!r}"
        raise RecordError(msg)
    if writing.method == UPDATE:
        changes: dict[str, Any] = {name: _change(name, value, writing.modifiers.get(name, "set")) for name, value in fields.items()}
        # One that has but its id would take the place of what is there.
        return {writing.id_field: operation.key, **(changes or {_VERSION: _ABSENT})}
    made = {writing.id_field: operation.key, **{name: value for name, value in fields.items() if value is not None}}
    return {**made, _VERSION: _ABSENT} if writing.method == CREATE else made


def _change(name: str, value: object, modifier: str) -> dict[str, Any]:
    if modifier == "inc" and (isinstance(value, bool) or (not isinstance(value, int | float) and value is not None)):
        msg = f"{name} is {as_text(value)[:40]!r}, and only numbers can be added (inc)"
        raise RecordError(msg)
    return {"set" if value is None and modifier == "set" else modifier: value}


def _put(fields: dict[str, Any], name: str, value: Any, *, flat: bool) -> None:
    """A field as Solr takes it: an object would be a change of the field, and not a value."""
    if isinstance(value, Mapping):
        if flat:
            for inner, each in value.items():
                _put(fields, f"{name}.{inner}", each, flat=True)
            return
        value = to_json(value).decode()
    elif isinstance(value, list | tuple):
        value = [to_json(each).decode() if isinstance(each, Mapping | list | tuple) else _moment(each) for each in value]
    fields[name] = _moment(value)


def _moment(value: Any) -> Any:
    """Solr's dates are times in UTC."""
    if isinstance(value, datetime):
        return (value.astimezone(UTC) if value.tzinfo else value).replace(tzinfo=None).isoformat() + "Z"
    return f"{value.isoformat()}T00:00:00Z" if isinstance(value, date) else value


def body_of(commands: Sequence[bytes]) -> bytes:
    """The body of a request: names come again in it, which Solr takes in their order."""
    return b"{%b}" % b",".join(commands)


def tolerated(body: Any) -> Mapping[str, str] | None:
    """What a chain with TolerantUpdateProcessor has left out: by id what is wrong with it. None: this is no answer of Solr."""
    header = body.get("responseHeader") if isinstance(body, Mapping) else None
    if not isinstance(header, Mapping):
        return None
    errors = header.get("errors") or ()
    return {str(each.get("id")): _shown(str(each.get("message"))) for each in errors if isinstance(each, Mapping)}


def reason_of(body: Any) -> str | None:
    """The reason of an answer that is not good; None: it is not Solr that says it."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return None
    return _shown(str(error.get("msg") or error.get("trace") or "no reason"))


def _shown(text: str) -> str:
    return " ".join(text.split())[:_SHOWN]


def modifiers_of(pairs: Sequence[str]) -> dict[str, str]:
    """FIELD=MODIFIER, FIELD=MODIFIER. Raises ValueError: what is wrong."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, modifier = pair.rpartition("=")
        if not equals or not name or modifier not in MODIFIERS:
            msg = f"{pair!r} is no FIELD=MODIFIER with one of {', '.join(MODIFIERS)}"
            raise ValueError(msg)
        found[name] = modifier
    return found
