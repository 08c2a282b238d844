"""CloudEvents 1.0."""

import base64
from collections.abc import Mapping, Sequence

import msgspec

from rocketconnect_sdk.converters.base import Converter, Decoded
from rocketconnect_sdk.converters.changes.envelopes import only
from rocketconnect_sdk.converters.cloudevents.binary import OF_STRUCTURED, data_of, properties_of
from rocketconnect_sdk.converters.cloudevents.events import (
    REQUIRED,
    Event,
    checked,
    events_of,
    is_batch,
    key_of,
    time_of,
    with_names,
)
from rocketconnect_sdk.converters.json.forms import Decimals, Form
from rocketconnect_sdk.converters.json.reading import value_of
from rocketconnect_sdk.converters.json.values import Values
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.record import NO_HEADERS
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.writes.templates import Template, Told

_FORM = Form(Decimals.NUMERIC, is_plain=True)
_PLAIN = Values(None, _FORM)
_PLACES = "${topic}, ${value} and ${value.FIELD}"
_FIX = f"Write a text, in which {_PLACES} may stand."
_TYPES: Mapping[type, str] = {bytes: "application/octet-stream", str: "text/plain"}


def _template_problem(source: str) -> str | None:
    try:
        parts = Template.of(source).parts
    except ValueError as error:
        return str(error)
    other = next((part for part in parts if not isinstance(part, str) and part[0] not in ("topic", "value")), None)
    return None if other is None else f"has ${{{'.'.join(other)}}}, which is no part of the value"


def _extension_problem(pairs: Sequence[str]) -> str | None:
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            return f"{pair!r} is no NAME=TEXT"
        if not name.isalnum() or not name.isascii() or name != name.lower():
            return f"{name!r} is no name of lower-case letters and digits"
        if problem := _template_problem(text):
            return problem
    return None


def _attribute(name: str, doc: str, default: str) -> Option:
    return Option(name, doc, default=default, check=_template_problem, fix=_FIX)


class CloudEventsConverter(Converter):
    """CloudEvents 1.0: a record is an event, as an object with its attributes and its `data`.

    Read are events in JSON, several of them in a message, and those whose attributes are properties of the message. Written are
    records that are events as they are, and any other record as the data of one.
    """

    name = "cloudevents"
    for_keys = False
    several = True
    by_topic = True
    reads_headers = True
    has_properties = True
    options = (
        Option(
            "mode",
            "structured: a message is an event in JSON. binary: it is the data, and the attributes are properties of it (CE_id).",
            default="structured",
            choices=("structured", "binary"),
        ),
        _attribute(
            "id",
            "The id of the event that a record becomes, of which there is one in its source: ${value.id}. Records that are events "
            "keep theirs.",
            "",
        ),
        _attribute("source", f"Its source: /shops/${{value.shop}}. {_PLACES} stand for what a record has.", "/${topic}"),
        _attribute("type", "Its type: com.example.order.placed.", "rocketconnect.record"),
        _attribute("subject", "Its subject. Empty: none.", ""),
        _attribute("time", "When it happened, as RFC 3339 has it: ${value.at}. Empty: not said.", ""),
        _attribute("dataschema", "The address of the schema of its data. Empty: none.", ""),
        Option(
            "extensions",
            "More attributes, each NAME=TEXT, separated by commas: partitionkey=${value.shop}.",
            Kind.LIST,
            default="",
            check=_extension_problem,
            fix=f"Write NAME=TEXT. {_FIX}",
        ),
    )

    def __init__(self, config: Config, *, is_key: bool) -> None:
        super().__init__(config, is_key=is_key)
        self._topic = ""
        self._is_binary = config["mode"] == "binary"
        pairs = [pair.partition("=") for pair in config["extensions"]]
        named = {name: config[name] for name in ("id", "source", "type", "subject", "time", "dataschema")}
        made = {**named, **{name: text for name, _, text in pairs}}
        self._attributes = {name: Template.of(text) for name, text in made.items() if text}

    def for_topic(self, topic: str) -> None:
        """See Converter."""
        self._topic = topic

    def decode(self, data: bytes) -> tuple[object, Schema | None]:
        """The event of a message that has one."""
        return only(self.records(data)[0]), None

    def records(self, data: bytes) -> tuple[Sequence[Decoded], Schema | None]:
        """See Converter."""
        return self.records_of(data, NO_HEADERS)

    def records_of(self, data: bytes, headers: Mapping[str, str]) -> tuple[Sequence[Decoded], Schema | None]:
        """See Converter."""
        return [Decoded(event, key_of(event), time_of(event)) for event in events_of(data, headers)], None

    def alone(self, data: bytes, row: int) -> bytes:
        """See Converter."""
        found = value_of(data) if is_batch(data) else None
        return _PLAIN.encode(found[row]) if isinstance(found, list) else data

    def encode(self, value: object, schema: Schema | None) -> bytes:
        """An event in JSON, or its data."""
        attributes, data = self._event(value, schema)
        if not self._is_binary:
            return msgspec.json.encode({**attributes, **data})
        # What can't be a property makes a bad record now.
        properties_of(attributes, data)
        return data_of(attributes, data)

    def properties_of(self, value: object, schema: Schema | None) -> Mapping[str, str]:
        """See Converter."""
        return properties_of(*self._event(value, schema)) if self._is_binary else OF_STRUCTURED

    def _event(self, value: object, schema: Schema | None) -> tuple[Event, Event]:
        """The attributes of an event, and its data as they are written."""
        if isinstance(value, Mapping) and value.keys() >= {*REQUIRED}:
            return _written(self._json(value, schema))
        if "id" not in self._attributes:
            lacking = f"the record is no event ({', '.join(REQUIRED)}), and nothing says its id"
            msg = f"{lacking}: set value.converter.id=${{value.FIELD}}"
            raise RecordError(msg)
        told = Told(self._topic, "", 0, None, value, {})
        event: Event = {"specversion": "1.0", **{name: each.text(told) for name, each in self._attributes.items()}}
        event["datacontenttype"] = _TYPES.get(type(value), "application/json")
        if isinstance(value, bytes):
            return with_names(checked({**event, "data_base64": base64.b64encode(value).decode()})), {}
        return with_names(checked(event)), {"data": msgspec.Raw(self._json(value, schema))}

    def _json(self, value: object, schema: Schema | None) -> bytes:
        return (_PLAIN if schema is None else Values(schema, _FORM)).encode(value)


def _written(event: bytes) -> tuple[Event, Event]:
    """An event whose attributes are looked at, and whose data stay as they are written."""
    parts = msgspec.json.decode(event, type=dict[str, msgspec.Raw])
    data = {"data": parts.pop("data")} if "data" in parts else {}
    attributes = {name: value_of(bytes(part)) for name, part in parts.items()}
    # What a row may have is null where an event has nothing.
    kept = with_names(checked({**attributes, **dict.fromkeys(data)}))
    return {name: each for name, each in kept.items() if name != "data"}, data
