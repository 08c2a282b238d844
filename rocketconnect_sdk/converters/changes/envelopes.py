"""What the JSON of all these tools has in common: changes of rows, with their keys. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rocketconnect_sdk.changes.envelope import Operation, Origin, envelope
from rocketconnect_sdk.converters.base import Decoded
from rocketconnect_sdk.converters.json.values import Values
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, struct
from rocketconnect_sdk.targets.envelopes import ENVELOPE
from rocketconnect_sdk.wording.counts import counted

Row = Mapping[str, Any]
_JSON = Values(None)
_NO_MORE = struct([])


class Change(NamedTuple):
    """What happened to a row.

    Attributes:
        operation: What.
        before: The row before it; None: there was none, or nobody tells.
        after: The row after it; None: it is gone.
        unchanged: The columns of `after` that were not told.
    """

    operation: Operation
    before: Row | None
    after: Row | None
    unchanged: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """What a message says of all its changes.

    Attributes:
        tool: Who wrote it: "canal".
        database: Of the table.
        table: The table.
        made_ms: When the changes were made, milliseconds since 1970.
        read_ms: When the tool read them.
        key: The columns of the primary key; empty: not said.
    """

    tool: str
    database: str
    table: str
    made_ms: int
    read_ms: int
    key: Sequence[str] = ()

    @property
    def origin(self) -> Origin:
        """Where the changes come from."""
        return Origin(self.tool, "", self.database, "", self.table)

    def schema(self, columns: Schema) -> Schema:
        """Of the envelopes of rows of these columns."""
        return envelope(self.origin, columns, _NO_MORE)

    def record(self, change: Change) -> Decoded:
        """A change as a record: its envelope, and its key where that is known."""
        row = change.before if change.after is None else change.after
        source = {**self.origin.constants, "snapshot": "true" if change.operation is Operation.READ else "false"}
        value = {
            "before": change.before,
            "after": change.after,
            "source": {**source, "ts_ms": self.made_ms},
            "transaction": None,
            "op": change.operation.value,
            "ts_ms": self.read_ms,
            "unchanged": list(change.unchanged) or None,
        }
        key = {name: row[name] for name in self.key} if self.key and row is not None and row.keys() >= {*self.key} else None
        return Decoded(value, key, self.made_ms or None)


def object_of(data: bytes, tool: str) -> dict[str, Any]:
    """A message as a JSON object.

    Raises:
        RecordError: it is none.
    """
    found = _JSON.decode(data)
    if not isinstance(found, dict):
        msg = f"no message of {tool}, which is a JSON object: it is {type(found).__name__}"
        raise RecordError(msg)
    return found


def json_of(message: Mapping[str, Any]) -> bytes:
    """A message as JSON."""
    return _JSON.encode(message)


def text_in(message: Mapping[str, Any], name: str, tool: str) -> str:
    """A text of a message. Raises RecordError: there is none."""
    found = message.get(name)
    if not isinstance(found, str):
        msg = f"no message of {tool}: its {name} is {found!r:.60}, and no text"
        raise RecordError(msg)
    return found


def number_in(message: Mapping[str, Any], name: str) -> int:
    """A whole number of a message; 0: there is none."""
    found = message.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def names_in(message: Mapping[str, Any], name: str) -> Sequence[str]:
    """A list of names in a message; empty: there is none."""
    found = message.get(name)
    return found if isinstance(found, list) and all(isinstance(each, str) for each in found) else ()


def only(records: Sequence[Decoded]) -> object:
    """The value of the only record of a message.

    Raises:
        RecordError: there are others, or none; or it is bad.
    """
    if len(records) != 1:
        msg = f"a message of {counted(records, 'change')} where one value is expected"
        raise RecordError(msg)
    if isinstance(records[0].value, RecordError):
        raise records[0].value
    return records[0].value


def parted(change: Change, key: Sequence[str]) -> list[Change]:
    """A change; one that gives its row another key as two: the old row is gone, and there is a new one."""
    before, after = change.before, change.after
    if before is None or after is None or all(before.get(name) == after.get(name) for name in key):
        return [change]
    return [Change(Operation.DELETE, before, None), Change(Operation.CREATE, None, after, change.unchanged)]


def change_of(value: object, tool: str) -> tuple[Change, Mapping[str, Any], int]:
    """The change that a value is, what its source says, and when it was read; a plain row was created.

    Raises:
        RecordError: it is neither.
    """
    if not isinstance(value, Mapping):
        msg = f"{tool} has changes of rows, and this value is {type(value).__name__}: a struct is wanted"
        raise RecordError(msg)
    if not value.keys() >= ENVELOPE:
        return Change(Operation.CREATE, None, value), {}, 0
    try:
        operation = Operation(value["op"])
    except ValueError:
        msg = f"the change has the op {value['op']!r:.20}, which {tool} has no word for"
        raise RecordError(msg) from None
    source = value.get("source")
    unchanged = value.get("unchanged") or ()
    change = Change(operation, value["before"], value["after"], unchanged)
    return change, source if isinstance(source, Mapping) else {}, value.get("ts_ms") or 0
