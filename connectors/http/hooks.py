"""What the requests of webhooks become. Pure, but for the clock."""

import base64
import hmac
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from connectors.http.signatures import Signer
from rocketconnect_sdk.changes.topics import fitted
from rocketconnect_sdk.configuration.runtime_options import TOPIC_LENGTH
from rocketconnect_sdk.converters.json.reading import NotJson, value_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.files.lines import to_json
from rocketconnect_sdk.listeners.http import NotTaken, Receiver, Request, Response
from rocketconnect_sdk.queues import Received
from rocketconnect_sdk.writes.templates import as_text

METHODS = ("POST", "PUT", "PATCH")
_PLACE = re.compile(r"\$\{([^}]*)\}")
_KINDS = ("header", "query", "value")
_MOST_FIELDS = 10_000
_MOST_HEADERS = 16 << 10
KEY_FORM = "${header.X-Request-Id}, ${query.id} and ${value.order.id}"


def key_problem(template: str) -> str | None:
    """What is wrong with the template of a key; None: nothing."""
    for place in _PLACE.findall(template):
        kind, _, name = place.partition(".")
        if kind not in _KINDS or not all(name.split(".")):
            return f"has ${{{place}}}, which stands for nothing"
    return None


def paths_problem(pairs: Sequence[str]) -> str | None:
    """What is wrong with PATH=TOPIC, PATH=TOPIC; None: nothing."""
    seen: set[str] = set()
    for pair in pairs:
        path, equals, topic = pair.rpartition("=")
        if not equals or not path.startswith("/") or "?" in path or "#" in path:
            return f"{pair!r} is no PATH=TOPIC"
        if not topic or len(topic) > TOPIC_LENGTH or fitted(topic) != topic:
            return f"{pair!r} names no topic of 1 to {TOPIC_LENGTH} letters, digits, %, |, - and _"
        if path in seen:
            return f"has {path} twice"
        seen.add(path)
    return None


@dataclass(frozen=True, slots=True)
class Doorkeeper:
    """Who may send.

    Attributes:
        logins: What the header Authorization may have, its scheme in lower case; empty: it is not looked at.
        key_header: The header that may have the API key.
        key: The API key; empty: there is none.
        signer: Looks at signatures; None: there are none.
        origins: The pages that browsers may send from; `*`: all; empty: it is not looked at.
    """

    logins: Sequence[str] = field(default=(), repr=False)
    key_header: str = ""
    key: str = field(default="", repr=False)
    signer: Signer | None = None
    origins: Sequence[str] = ()

    def look(self, request: Request) -> None:
        """Raises NotTaken: who sends it may not."""
        origin = request.headers.get("origin", "")
        if self.origins and origin and not self.allowed(origin):
            raise NotTaken(Response(403, "the page that sends this is none that may"))
        if not self.logins and not self.key:
            return
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        given = f"{scheme.lower()} {secret.strip()}"
        is_known = any(_same(given, each) for each in self.logins)
        if not is_known and not (self.key and _same(request.headers.get(self.key_header.lower(), ""), self.key)):
            challenge = "Basic" if any(each.startswith("basic ") for each in self.logins) else "Bearer"
            raise NotTaken(Response(401, "who sends this is not known", {"WWW-Authenticate": challenge}))

    def check(self, request: Request) -> None:
        """Raises NotTaken: its signature is not right."""
        if self.signer is not None:
            given = request.headers.get(self.signer.header.lower(), "")
            if (problem := self.signer.problem(request.sent, given, time.time())) is not None:
                raise NotTaken(Response(401, f"the request {problem}"))

    def allowed(self, origin: str) -> bool:
        """Whether browsers may send from a page."""
        return "*" in self.origins or origin in self.origins


@dataclass(frozen=True, slots=True)
class Bodies:
    """What a body becomes.

    Attributes:
        form: json, text, bytes or form.
        records: one, array or lines.
        key: The template of keys; empty: there are none.
        most_bytes: The size of a record.
    """

    form: str
    records: str = "one"
    key: str = ""
    most_bytes: int = 4 << 20

    def read(self, request: Request) -> Iterator[tuple[object, str | None, int]]:
        """The values with their keys and their sizes. Raises NotTaken: it is none."""
        try:
            for value, size in self._values(request.body):
                if size > self.most_bytes:
                    raise NotTaken(Response(413, f"a record has {self.most_bytes:,} bytes at most, and one has {size:,}"))
                yield value, self._key(request, value), size
        except (NotJson, ValueError, RecordError) as error:
            raise NotTaken(Response(400, f"the body {error}")) from None

    def _values(self, body: bytes) -> Iterator[tuple[object, int]]:
        if self.records == "array":
            found = _json(body)
            if not isinstance(found, list):
                msg = "is no JSON array"
                raise ValueError(msg)
            is_small = len(body) <= self.most_bytes
            for each in found:
                yield each, len(body) // len(found) if is_small else len(to_json(each))
            return
        parts = [part for part in body.splitlines() if part] if self.records == "lines" else [body]
        for part in parts:
            yield _READERS[self.form](part), len(part)

    def _key(self, request: Request, value: object) -> str | None:
        return _PLACE.sub(lambda match: _found(match[1], request, value), self.key) or None if self.key else None


class Hooks(Receiver):
    """Requests become records.

    Args:
        paths: By path the topic; a path that ends with /* has all below it. Empty: all paths go to the topic of the configuration.
        keeper: Who may send.
        bodies: What a body becomes.
        headers: Headers of requests that become headers of records.
        status: Of the answer when the topic has it.
    """

    def __init__(
        self, paths: Mapping[str, str], keeper: Doorkeeper, bodies: Bodies, headers: Sequence[str], status: int = 200
    ) -> None:
        self._paths = paths
        self._keeper = keeper
        self._bodies = bodies
        self._headers = headers
        self._status = status

    def look(self, request: Request) -> None:
        """See Receiver."""
        self._topic(request.path)
        if request.method == "OPTIONS" and self._keeper.allowed(request.headers.get("origin", "")):
            asked = request.headers.get("access-control-request-headers", "")
            told = {"Access-Control-Allow-Methods": ", ".join(METHODS), "Access-Control-Max-Age": "86400"}
            raise NotTaken(Response(204, headers={**told, **({"Access-Control-Allow-Headers": asked} if asked else {})}))
        if request.method not in METHODS:
            raise NotTaken(Response(405, f"{request.method} is not for here", {"Allow": ", ".join(METHODS)}))
        self._keeper.look(request)

    def read(self, request: Request) -> Sequence[Received]:
        """See Receiver."""
        self._keeper.check(request)
        topic, headers, now_ms = self._topic(request.path), self._kept(request), time.time_ns() // 1_000_000
        return [Received(None, value, key, now_ms, headers, topic, size=size) for value, key, size in self._bodies.read(request)]

    @property
    def stored(self) -> Response:
        """See Receiver."""
        return Response(self._status)

    def headers(self, request: Request) -> Mapping[str, str]:
        """See Receiver."""
        origin = request.headers.get("origin", "")
        if not origin or not self._keeper.allowed(origin):
            return {}
        if "*" in self._keeper.origins:
            return {"Access-Control-Allow-Origin": "*"}
        return {"Access-Control-Allow-Origin": origin, "Access-Control-Allow-Credentials": "true", "Vary": "Origin"}

    def _topic(self, path: str) -> str:
        if not self._paths:
            return ""
        if path in self._paths:
            return self._paths[path]
        below = [name for name in self._paths if name.endswith("/*") and path.startswith(name[:-1])]
        if not below:
            raise NotTaken(Response(404, "nothing is at this path"))
        return self._paths[max(below, key=len)]

    def _kept(self, request: Request) -> dict[str, str]:
        kept = {name: request.headers[name.lower()] for name in self._headers if name.lower() in request.headers}
        kept |= {"http.method": request.method, "http.path": request.path}
        if kind := request.headers.get("content-type"):
            kept["http.content.type"] = kind
        if sum(map(len, kept.values())) > _MOST_HEADERS:
            raise NotTaken(Response(431, "the headers that are kept are too large"))
        return kept


def login_of(user: str, password: str) -> str:
    """What the header Authorization has for a user, its scheme in lower case."""
    return f"basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def _same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), known.encode())


def _json(body: bytes) -> Any:
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


_READERS: Mapping[str, Callable[[bytes], object]] = {"json": _json, "text": _text, "bytes": bytes, "form": _fields}
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
