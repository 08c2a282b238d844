"""How records become requests. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from uuid import UUID

from connectors.http.texts import path_of, value_problem
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.writes import Op, Operation

BODY = "body"
IDENTITY = "id"
HEADER = "header:"
"""Before the names of headers, among the texts that are made of a record."""
FORMATS = ("single", "array", "lines", "joined")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a request goes. Those of one address may become one.

    Attributes:
        method: Of HTTP.
        path: Behind the server.
        parameters: Of the URL.
        headers: Those that are made of records.
    """

    method: str
    path: str
    parameters: Mapping[str, str]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Shape:
    """What requests look like.

    Attributes:
        method: Of what is written.
        format: One of FORMATS.
        records: So many go into one, at most.
        separator: Between bodies that are joined.
        headers: Of all of them.
        identity: The header that says which record it is; empty: there is none.
        fixed: All go to one URL.
    """

    method: str
    format: str = FORMATS[0]
    records: int = 1
    separator: bytes = b"\n"
    headers: Mapping[str, str] = field(default_factory=dict)
    identity: str = ""
    fixed: bool = False

    def address(self, operation: Operation) -> Address:
        """Where an operation goes. Raises RecordError: nowhere."""
        path, parameters = path_of(operation.target)
        headers = {name.removeprefix(HEADER): text for name, text in operation.more.items() if name.startswith(HEADER)}
        for name, text in headers.items():
            if (problem := value_problem(text)) is not None:
                msg = f"its header {name} {problem}"
                raise RecordError(msg)
        return Address("DELETE" if operation.op is Op.DELETE else self.method, path, parameters, headers)

    def place(self, operation: Operation) -> tuple[str, ...]:
        """What `address` makes an address of: what is written and has the same one goes to the same address."""
        if not operation.more:
            return (operation.target,)
        return operation.target, *(text for name, text in operation.more.items() if name.startswith(HEADER))

    def part(self, operation: Operation) -> bytes:
        """What of a body an operation is. Raises RecordError: it can't be a part."""
        if operation.op is Op.DELETE:
            return b""
        text = operation.more.get(BODY)
        data = (operation.value or b"") if text is None else text.encode()
        if self.format == "joined" and self.separator in data:
            msg = f"it has request.separator ({self.separator!r}) in it, and nobody could tell it from two"
            raise RecordError(msg)
        return data

    def body(self, parts: Sequence[bytes]) -> bytes:
        """A body of several."""
        if self.format == "array":
            return b"[%b]" % b",".join(parts)
        if self.format == "lines":
            return b"".join(b"%b\n" % part for part in parts)
        return self.separator.join(parts)

    def identities(self, operations: Sequence[Operation]) -> dict[str, str]:
        """The header that is the same whenever the same records are sent."""
        named = [operation.more[IDENTITY] for operation in operations if IDENTITY in operation.more]
        if not self.identity or len(named) < len(operations):
            return {}
        whole = named[0] if len(named) == 1 else str(UUID(bytes=sha256("".join(named).encode()).digest()[:16], version=5))
        return {self.identity: whole}
