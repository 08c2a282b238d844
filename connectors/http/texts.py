"""The texts of a request that are made of a record: its URL, its headers, its body. Pure."""

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit
from uuid import NAMESPACE_OID, uuid5

import msgspec

from rocketconnect_sdk.configuration.references import REFERENCE
from rocketconnect_sdk.converters.json.reading import NotJson, value_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.files.lines import json_line, to_json
from rocketconnect_sdk.writes.templates import Template, Told, template_problem

_PLACE = re.compile(r"\$\{[^}]*\}")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OWN = ("authorization", "connection", "content-length", "content-type", "host", "transfer-encoding")
_OF_EVENTS = "".join(set(map(chr, range(0x21, 0x7F))) - set('"%'))
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class ValueAsJson(Template):
    """The value as JSON: text that is a JSON object or array is that, other text a JSON string, no value null."""

    def text(self, told: Told) -> str:
        """See Template."""
        return json_line(told.value)[:-1].decode()


@dataclass(frozen=True, slots=True)
class RecordId(Template):
    """A name of the record, which is the same each time that it is read: of its queue, its offset and its time."""

    def text(self, told: Told) -> str:
        """See Template."""
        # A topic that is made anew has the same offsets at other times.
        return str(uuid5(NAMESPACE_OID, f"{told.queue}/{told.offset}/{told.time_ms}"))


@dataclass(frozen=True, slots=True)
class JsonTemplate(Template):
    """A JSON document in which a text that is one place becomes what stands there in the record, with its type.

    Attributes:
        document: With a Template for each text.
    """

    document: Any = None

    @classmethod
    def read(cls, source: str) -> "JsonTemplate":
        """Reads a document. Raises ValueError: what is wrong with it."""
        try:
            return cls(source, (), document=_read(value_of(source)))
        except NotJson as error:
            msg = f"is no JSON, which content.type says: {error}"
            raise ValueError(msg) from None

    def text(self, told: Told) -> str:
        """See Template."""
        return to_json(_filled(self.document, told)).decode()


def _read(part: Any) -> Any:
    if isinstance(part, str):
        return Template.of(part) if _PLACE.search(part) else part
    if isinstance(part, Mapping):
        if name := next(filter(_PLACE.search, part), None):
            msg = f"has {name} as a name, and only values are made of records"
            raise ValueError(msg)
        return {name: _read(each) for name, each in part.items()}
    return [_read(each) for each in part] if isinstance(part, list) else part


def _filled(part: Any, told: Told) -> Any:
    if isinstance(part, Template):
        is_place = len(part.parts) == 1
        # Its digits and names stay as they are.
        return msgspec.Raw(json_line(part.value(told))[:-1]) if is_place else part.text(told)
    if isinstance(part, Mapping):
        return {name: _filled(each, told) for name, each in part.items()}
    return [_filled(each, told) for each in part] if isinstance(part, list) else part


def is_json(content_type: str) -> bool:
    """Whether a body of this type is JSON."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind.endswith(("/json", "+json", "/x-ndjson"))


def body_template(source: str, content_type: str) -> Template:
    """The template of a body: what comes of records is written as its type wants it. Raises ValueError: what is wrong with it."""
    if is_json(content_type):
        return JsonTemplate.read(source)
    kind = content_type.partition(";")[0].strip().lower()
    escape: Callable[[str], str] = str
    if kind == _FORM:
        escape = quote_plus
    elif kind.endswith(("/xml", "+xml", "/html")):
        escape = html.escape
    return Template.of(source, escape)


def origin_and_path(url: str) -> tuple[str, str]:
    """The server of a URL, and what is behind it."""
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    path = url.partition("#")[0].removeprefix(origin)
    return origin, path if path.startswith("/") else f"/{path}"


def url_problem(url: str) -> str | None:
    """What is wrong with the URL of requests; None: nothing. References in it stand for something."""
    text = REFERENCE.sub("x", url)
    if (problem := template_problem(text)) is not None:
        return problem
    text = _PLACE.sub("x", text)
    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        fits = False
    if not fits or any(each.isspace() or not each.isprintable() for each in text):
        return "is no URL of http or https"
    if "@" in parts.netloc:
        return "has a user or a password in it, and these have options of their own"
    if "$" in url.partition("://")[2].partition("/")[0].partition("?")[0]:
        return "has the name of the server made of something, and that is the same for all records"
    if parts.fragment:
        return "has a # in it, and what is behind that is never sent"
    names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    twice = next((name for name in names if names.count(name) > 1), None)
    return None if twice is None else f"has the parameter {twice} twice"


def url_part(text: str) -> str:
    """What stands for a place in a URL. Raises RecordError: nothing would be there."""
    if not text:
        msg = "the record has nothing where the URL has a place"
        raise RecordError(msg)
    return quote(text, safe="")


def path_of(target: str) -> tuple[str, dict[str, str]]:
    """The path and the parameters of a target. Raises RecordError: it leads elsewhere."""
    path, _, query = target.partition("?")
    if any(part in (".", "..") for part in path.split("/")):
        msg = f"the path {path[:200]} would lead elsewhere"
        raise RecordError(msg)
    return path, dict(parse_qsl(query, keep_blank_values=True))


def header_problem(pair: str) -> str | None:
    """What is wrong with NAME=TEXT; None: nothing."""
    name, equals, text = pair.partition("=")
    if not equals or not _NAME.fullmatch(name.strip()):
        return f"{pair!r} is no NAME=TEXT"
    if name.strip().lower() in _OWN:
        return f"{name.strip()} is set by other options, such as user, token and content.type, or by the client"
    return template_problem(text) or (None if _PLACE.search(text) else value_problem(text))


def name_problem(name: str) -> str | None:
    """What is wrong with the name of a header, which may be empty; None: nothing."""
    if name.lower() in _OWN:
        return "is set by other options, or by the client"
    return None if not name or _NAME.fullmatch(name) else "is no name of a header"


def value_problem(text: str) -> str | None:
    """What is wrong with the text of a header; None: nothing."""
    return None if text.isascii() and text.isprintable() else "has a character that no header has, such as the end of a line"


def headers_of(pairs: tuple[str, ...]) -> dict[str, Template]:
    """The templates of headers by name. In those of CloudEvents (ce-id) what is no ASCII is written as in URLs."""
    made = ((name.strip(), text.strip()) for name, _, text in (pair.partition("=") for pair in pairs))
    return {name: Template.of(text, _event_part if name.lower().startswith("ce-") else str) for name, text in made}


def _event_part(text: str) -> str:
    return quote(text, safe=_OF_EVENTS)
