"""Converters whose schemas are in a registry: what they have in common.

A message is a byte 0, the id of its schema (4 bytes, of Apicurio's own form 8), and the value.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeVar

from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.converters.background import Background, NotYet
from rocketconnect_sdk.converters.base import Converter
from rocketconnect_sdk.converters.remembered import Remembered
from rocketconnect_sdk.errors import PermanentError, Problem, RecordError, SystemAway
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.registry import COMPATIBILITIES, OPTIONS, RegisteredSchema, Registry, Unknown
from rocketconnect_sdk.registry.client import incompatible
from rocketconnect_sdk.schema import BYTES, STRING, Schema, Type

_T = TypeVar("_T")

_JAVA = "io.confluent.kafka.serializers.subject."
_STRATEGIES = {
    "topic": "topic",
    "record": "record",
    "topic_record": "topic_record",
    f"{_JAVA}TopicNameStrategy": "topic",
    f"{_JAVA}RecordNameStrategy": "record",
    f"{_JAVA}TopicRecordNameStrategy": "topic_record",
}
_UNKNOWN_SECONDS = 5.0
"""So long an id that the registry does not know is not asked for again: messages with it come in numbers."""
_AGAIN_SECONDS = 0.2
"""After which it is worth while to look whether the registry has answered."""
MANY = 16
"""Fewer messages are read one by one: a column costs something by itself."""
_DEEPEST = 20
_MOST_REFERENCES = 200

REGISTERED = (
    *OPTIONS,
    Option(
        "subject.name.strategy",
        "Under which subject schemas are registered: topic (TOPIC-value, TOPIC-key), record (the record's name) or topic_record.",
        default="topic",
        choices=tuple(_STRATEGIES),
    ),
    Option(
        "auto.register.schemas",
        "A schema that the registry does not have is registered. If not, it is looked up, and the task fails where it is missing.",
        Kind.BOOL,
        "true",
    ),
    Option(
        "use.latest.version",
        "Write with the latest schema of the subject, not with the record's own; takes auto.register.schemas=false.",
        Kind.BOOL,
        "false",
    ),
    Option(
        "compatibility",
        "Set for a subject before a schema is registered. Empty: left as it is.",
        default="",
        choices=("", *COMPATIBILITIES),
    ),
    Option("normalize.schemas", "The registry normalizes schemas before it compares and registers them.", Kind.BOOL, "false"),
    Option(
        "schema.registry.id.size",
        "Bytes of an id in a message: 4 as Confluent has it, 8 as Apicurio's own converters write it.",
        default="4",
        choices=("4", "8"),
    ),
)
"""The options of a converter whose schemas are in a registry."""


class Form(ABC):
    """How values of one registered schema are written and read.

    Attributes:
        schema: What it stands for.
        name: The full name of the record; empty: it is none.
    """

    schema: Schema
    name: str

    @abstractmethod
    def encode(self, value: object) -> bytes:
        """What follows the id. Raises RecordError: the value does not fit."""

    @abstractmethod
    def decode(self, data: bytes, start: int) -> object:
        """The value that stands behind an id. Raises RecordError: none does."""

    def encode_many(self, values: Sequence[object]) -> list[bytes]:
        """The same bytes as encode, for each of them."""
        return list(map(self.encode, values))

    def decode_many(self, data: Sequence[bytes], start: int) -> Sequence[object]:
        """The same values as decode, for each of them. They may be a Column."""
        return [self.decode(item, start) for item in data]


@dataclass(frozen=True, slots=True)
class _Writer:
    header: bytes
    form: Form


_PLAIN: Mapping[type, Schema] = {
    str: STRING,
    bytes: BYTES,
    bool: Schema(Type.BOOLEAN),
    int: Schema(Type.INT64),
    float: Schema(Type.FLOAT64),
}
"""What stands for values that come without a schema, such as keys."""


class RegisteredConverter(Converter):
    """A converter whose schemas are in a registry. Where the registry is away, encode and decode are a SystemAway: call them again.

    Class attributes:
        kind: What the registry calls such schemas.
    """

    kind: ClassVar[str]
    options: ClassVar[Sequence[Option]] = REGISTERED
    by_topic = True
    wants_columns = True

    def __init__(self, config: Config, *, is_key: bool) -> None:
        super().__init__(config, is_key=is_key)
        self._strategy = _STRATEGIES[config["subject.name.strategy"]]
        self._id_bytes = int(config["schema.registry.id.size"])
        self._topic = ""
        self._registry = Registry(config)
        size: int = config["schemas.cache.size"]
        self._writers: Remembered[tuple[str, Schema], _Writer] = Remembered(size)
        self._dry_writers: Remembered[tuple[str, Schema], _Writer] = Remembered(size)
        self._readers: Remembered[int, Form] = Remembered(size)
        self._unknown: Remembered[int, tuple[float, str]] = Remembered(size)
        self._set: set[str] = set()
        self._background = Background()

    @classmethod
    def check(cls, config: Config) -> Iterable[Problem]:
        """Options that say the opposite of each other."""
        if config["use.latest.version"] and config["auto.register.schemas"]:
            fix = "Set auto.register.schemas=false, or leave use.latest.version out."
            yield Problem("use.latest.version", "true", "registers no schema", fix)
        if config["bearer.auth.token"] and config["basic.auth.user.info"]:
            yield Problem("bearer.auth.token", "", "is given with basic.auth.user.info", "Give one of the two.")

    @abstractmethod
    def form_of(self, schema: Schema) -> tuple[RegisteredSchema, Form]:
        """What a schema is in the registry. Raises RecordError: it cannot be written so that it is read again."""

    @abstractmethod
    def form_from(self, registered: RegisteredSchema, references: Mapping[str, str]) -> Form:
        """The form of a schema of the registry, with the texts of what it refers to by name. Raises RecordError: it has none."""

    def for_topic(self, topic: str) -> None:
        """What it encodes from now on goes to this topic, which is in the name of the subject."""
        self._topic = topic

    def encode(self, value: object, schema: Schema | None) -> bytes:
        """The message of a value."""
        writer = self._writer(schema or _guessed(value))
        return writer.header + writer.form.encode(value)

    def encode_dry(self, value: object, schema: Schema | None) -> bytes:
        """The message of a value, with the id 0 where the registry does not have the schema; it is not registered for that."""
        key = (self._topic, schema or _guessed(value))
        writer = self._dry_writers.recall(key) or self._dry_writers.keep(key, self._made_writer(*key, dry=True))
        return writer.header + writer.form.encode(value)

    def encode_many(self, values: Sequence[object], schema: Schema | None) -> list[bytes]:
        """The same bytes as encode."""
        if schema is None or not values:
            return super().encode_many(values, schema)
        writer = self._writer(schema)
        return [writer.header + data for data in writer.form.encode_many(values)]

    def decode(self, data: bytes) -> tuple[object, Schema | None]:
        """The value of a message, and what its schema in the registry stands for."""
        form, start = self._reader_at(data)
        return form.decode(data, start), form.schema

    def decode_many(self, data: Sequence[bytes]) -> tuple[Sequence[object], Schema | None]:
        """The same values as decode."""
        size = 1 + self._id_bytes
        if not data or any(item[:size] != data[0][:size] for item in data):
            return super().decode_many(data)
        form, start = self._reader_at(data[0])
        if start > size and any(item[:start] != data[0][:start] for item in data):
            return super().decode_many(data)
        return form.decode_many(data, start), form.schema

    def _reader_at(self, data: bytes) -> tuple[Form, int]:
        """The form that a message is read with, and where its value begins."""
        return self._reader(self._id(data)), 1 + self._id_bytes

    def _id(self, data: bytes) -> int:
        size = 1 + self._id_bytes
        if len(data) < size or data[0] != 0:
            msg = (
                f"the message of {len(data)} bytes does not begin with a byte 0 and the {self._id_bytes} bytes of a schema's id: "
                "it was not written with a schema registry"
            )
            raise RecordError(msg)
        return int.from_bytes(data[1:size], "big")

    def _writer(self, schema: Schema) -> _Writer:
        key = (self._topic, schema)
        known = self._writers.recall(key)
        if known is not None:
            return known
        return self._writers.keep(key, self._awaited(key, partial(self._made_writer, *key)))

    def _made_writer(self, topic: str, schema: Schema, *, dry: bool = False) -> _Writer:
        registered, form = self.form_of(schema)
        subject = self._subject(topic, form)
        if self.config["use.latest.version"]:
            number, form = self._latest(subject)
        else:
            number = self._registered(subject, registered, dry=dry)
        if number >> 8 * self._id_bytes:
            msg = f"the schema's id {number} takes more than {self._id_bytes} bytes: set schema.registry.id.size=8"
            raise PermanentError(msg)
        return _Writer(b"\x00" + number.to_bytes(self._id_bytes, "big"), form)

    def _awaited(self, key: Hashable, ask: Callable[[], _T]) -> _T:
        """What the registry is asked for. Raises SystemAway, too, when it takes longer than there is patience."""
        if self.patience is None:
            return ask()
        try:
            return self._background.result(key, ask, self.patience)
        except NotYet:
            msg = f"the schema registry {', '.join(self.config['schema.registry.url'])} has not answered yet"
            raise SystemAway(msg, wait=_AGAIN_SECONDS) from None

    def _subject(self, topic: str, form: Form) -> str:
        if self._strategy == "topic":
            return f"{topic}-{'key' if self.is_key else 'value'}"
        if not form.name:
            msg = f"subject.name.strategy={self._strategy} is for records with a name, and this is a {type_name(form.schema)}"
            raise RecordError(msg)
        return form.name if self._strategy == "record" else f"{topic}-{form.name}"

    def _latest(self, subject: str) -> tuple[int, Form]:
        version = self._registry.version(subject)
        if version is None:
            msg = f"the schema registry has no subject {subject}: register a schema there, or set use.latest.version=false"
            raise PermanentError(msg)
        try:
            return version.id, self._form(version.schema)
        except RecordError as error:
            msg = f"values cannot be written with version {version.number} of the subject {subject}: {error}"
            raise PermanentError(msg) from None

    def _registered(self, subject: str, schema: RegisteredSchema, *, dry: bool) -> int:
        """The id of a schema, which is registered where it is not; dry: 0 then, and nothing is changed."""
        registry, normalize = self._registry, self.config["normalize.schemas"]
        if self.config["auto.register.schemas"] and not dry:
            self._promise(subject)
        found = registry.find(subject, schema, normalize=normalize)
        if found is not None:
            return found
        if not self.config["auto.register.schemas"]:
            msg = (
                f"the schema registry does not have this schema under the subject {subject}, and auto.register.schemas=false: "
                f"register it there, or set auto.register.schemas=true. The schema: {schema.text[:1_000]}"
            )
            raise PermanentError(msg)
        # Before it is registered: the registry says more here of what does not fit. What it says now is not what it says under a
        # level that is only to be set.
        if not (dry and self.config["compatibility"]) and (reasons := registry.conflicts(subject, schema)):
            raise incompatible(subject, schema, reasons)
        if dry:
            return 0
        number = registry.register(subject, schema, normalize=normalize)
        self._promise(subject)
        return number

    def _promise(self, subject: str) -> None:
        level: str = self.config["compatibility"]
        if not level or subject in self._set:
            return
        if self._registry.compatibility(subject) == level or self._registry.set_compatibility(subject, level):
            self._set.add(subject)

    def _reader(self, number: int) -> Form:
        known = self._readers.recall(number)
        if known is not None:
            return known
        refused = self._unknown.recall(number)
        if refused is not None and time.monotonic() < refused[0]:
            raise RecordError(refused[1])
        try:
            form = self._awaited(number, lambda: self._form(self._registry.by_id(number)))
        except RecordError as error:
            msg = str(error) if isinstance(error, Unknown) else f"the schema {number} of the registry: {error}"
            self._unknown.keep(number, (time.monotonic() + _UNKNOWN_SECONDS, msg))
            raise RecordError(msg) from None
        self._unknown.pop(number, None)
        return self._readers.keep(number, form)

    def _form(self, schema: RegisteredSchema) -> Form:
        if schema.kind != self.kind:
            msg = f"it is of the type {schema.kind}, and the converter {self.name} reads {self.kind}"
            raise RecordError(msg)
        found: dict[str, str] = {}
        self._refer(schema, found, 0)
        return self.form_from(schema, found)

    def _refer(self, schema: RegisteredSchema, found: dict[str, str], depth: int) -> None:
        """Adds the texts of what a schema refers to, each behind those that it is made with."""
        for reference in schema.references:
            if reference.name in found:
                continue
            if depth > _DEEPEST or len(found) > _MOST_REFERENCES:
                msg = f"it refers to more than {_MOST_REFERENCES} others, or to itself"
                raise RecordError(msg)
            version = self._registry.version(reference.subject, reference.version)
            if version is None:
                msg = f"it refers to {reference.subject}, version {reference.version}, which the registry does not have"
                raise RecordError(msg)
            self._refer(version.schema, found, depth + 1)
            found[reference.name] = version.schema.text


def _guessed(value: object) -> Schema:
    schema = _PLAIN.get(type(value))
    if schema is None:
        msg = f"a {type(value).__name__} without a schema: give one, in the source or with a transform, or use the converter json"
        raise RecordError(msg)
    return schema
