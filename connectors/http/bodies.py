"""What the bodies of requests become. Pure."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from rocketconnect_sdk.converters.json.reading import NotJson, value_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.files.lines import to_json
from rocketconnect_sdk.listeners.http import NotTaken, Request, Response, Unpacker, ungzipped
from rocketconnect_sdk.record import NO_HEADERS
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.writes.templates import as_text

_PLACE = re.compile(r"\$\{([^}]*)\}")
_KINDS = ("header", "query", "value")
_MOST_FIELDS = 10_000
KEY_FORM = "${header.X-Request-Id}, ${query.id} and ${value.order.id}"


def key_problem(template: str) -> str | None:
    """What is wrong with the template of a key; None: nothing."""
    for place in _PLACE.findall(template):
        kind, _, name = place.partition(".")
        if kind not in _KINDS or not all(name.split(".")):
            return f"has ${{{place}}}, which stands for nothing"
    return None


def key_of(template: str, request: Request, value: object) -> str | None:
    """The key of a record; None: it has none."""
    return _PLACE.sub(lambda match: _found(match[1], request, value), template) or None if template else None


class Row(NamedTuple):
    """A record of a body.

    Attributes:
        value: Its value.
        size: Of that in bytes.
        schema: Of its value; None: not known.
        timestamp_ms: When it was made; None: now.
        headers: Of it, beside those of the request.
    """

    value: object
    size: int
    schema: Schema | None = None
    timestamp_ms: int | None = None
    headers: Mapping[str, str] = NO_HEADERS


class Rows(NamedTuple):
    """What a body has.

    Attributes:
        rows: The records.
        response: The answer when the topic has them; None: as it is configured.
    """

    rows: Sequence[Row]
    response: Response | None = None


class Bodies(ABC):
    """How bodies are read."""

    @property
    def packings(self) -> Mapping[str, Unpacker]:
        """See Receiver."""
        return {"gzip": ungzipped}

    def look(self, request: Request) -> None:  # noqa: B027  # many take what comes
        """Looks at a request whose body has not come yet. Raises NotTaken: it has none that can be read."""

    def asked(self, request: Request) -> Response | None:
        """The answer to a sender that asks first (OPTIONS); None: nobody of this kind asks so."""
        del request
        return None

    @abstractmethod
    def read(self, request: Request) -> Rows:
        """What the body has. Raises NotTaken: it can't be read."""

    def refused(self, request: Request, response: Response) -> Response:
        """See Receiver."""
        del request
        return response


class PlainBodies(Bodies):
    """Bodies that are one value, or some of them behind each other.

    Args:
        form: json, text, bytes or form.
        records: one, array or lines.
        most_bytes: The size of a record.
    """

    def __init__(self, form: str, records: str = "one", most_bytes: int = 4 << 20) -> None:
        self._form = form
        self._records = records
        self._most_bytes = most_bytes

    def read(self, request: Request) -> Rows:
        """See Bodies."""
        try:
            rows = [Row(value, size) for value, size in self._values(request.body)]
        except (NotJson, ValueError, RecordError) as error:
            raise NotTaken(Response(400, f"the body {error}")) from None
        if (largest := max((row.size for row in rows), default=0)) > self._most_bytes:
            raise NotTaken(Response(413, f"a record has {self._most_bytes:,} bytes at most, and one has {largest:,}"))
        return Rows(rows)

    def _values(self, body: bytes) -> Iterator[tuple[object, int]]:
        if self._records == "array":
            found = json_of(body)
            if not isinstance(found, list):
                msg = "is no JSON array"
                raise ValueError(msg)
            is_small = len(body) <= self._most_bytes
            for each in found:
                yield each, len(body) // len(found) if is_small else len(to_json(each))
            return
        parts = [part for part in body.splitlines() if part] if self._records == "lines" else [body]
        for part in parts:
            yield _READERS[self._form](part), len(part)


def json_of(body: bytes) -> Any:
    """What the JSON of a body says. Raises ValueError, or what value_of does: it is none."""
    try:
        return value_of(body)
    except NotJson as error:
        msg = f"is no JSON: {error}"
        raise ValueError(msg) from None


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        msg = f"is no text in UTF-8 at byte {error.start}"
        raise ValueError(msg) from None


def _fields(body: bytes) -> dict[str, object]:
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(_text(body), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS):
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


_READERS: Mapping[str, Callable[[bytes], object]] = {"json": json_of, "text": _text, "bytes": bytes, "form": _fields}
FORMS = tuple(_READERS)


def _found(place: str, request: Request, value: object) -> str:
    """What stands for a place; nothing, where it is not there."""
    kind, _, name = place.partition(".")
    if kind == "header":
        return request.headers.get(name.lower(), "")
    if kind == "query":
        return dict(parse_qsl(request.query, max_num_fields=_MOST_FIELDS)).get(name, "")
    found: Any = value
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return "" if found is None else as_text(found)
