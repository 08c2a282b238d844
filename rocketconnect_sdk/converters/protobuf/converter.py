"""Protobuf, with its schemas in a registry, as Confluent's converter for Kafka Connect writes and reads it."""

from collections.abc import Mapping, Sequence
from typing import cast

from rocketconnect_sdk.converters.protobuf.files import FileDescriptor, compiled
from rocketconnect_sdk.converters.protobuf.form import ProtobufForm, found_at
from rocketconnect_sdk.converters.protobuf.text import to_proto
from rocketconnect_sdk.converters.registered import REGISTERED, Form, RegisteredConverter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Option
from rocketconnect_sdk.registry import RegisteredSchema
from rocketconnect_sdk.schema import Schema, Unit

_DEEPEST = 32
"""Messages within each other: protoc reads no more."""
_MOST_BYTES = 5
"""Of an index."""


class ProtobufFile(Form):
    """The messages of a registered file. As a form it is that of its first message, which is what is written.

    Args:
        file: The file.
        unit: Of times that do not say theirs.

    Raises:
        RecordError: its first message has no type here.
    """

    def __init__(self, file: FileDescriptor, unit: Unit = Unit.MICROSECONDS) -> None:
        self._file = file
        self._unit = unit
        self._forms: dict[tuple[int, ...], ProtobufForm] = {}
        self._first = self._form((0,))
        self.schema, self.name = self._first.schema, self._first.name

    def encode(self, value: object) -> bytes:
        """The bytes of a value of the first message. Raises RecordError: it does not fit."""
        return self._first.encode(value)

    def encode_many(self, values: Sequence[object]) -> list[bytes]:
        """See Form."""
        return self._first.encode_many(values)

    def decode(self, data: bytes, start: int) -> object:
        """The value of a message from there on, whichever of the file's it is. Raises RecordError: there is none."""
        form, start = self.at(data, start)
        return form.decode(data, start)

    def at(self, data: bytes, start: int) -> tuple[ProtobufForm, int]:
        """The form of the message that bytes say that they are, and where it begins. Raises RecordError: there is none."""
        count, at = _index(data, start)
        if count > _DEEPEST:
            msg = f"the message says that it is within {count} others"
            raise RecordError(msg)
        indexes = []
        for _ in range(count):
            number, at = _index(data, at)
            indexes.append(number)
        return self._form(tuple(indexes) or (0,)), at

    def _form(self, indexes: tuple[int, ...]) -> ProtobufForm:
        if indexes not in self._forms:
            self._forms[indexes] = ProtobufForm(found_at(self._file, indexes), indexes, self._unit)
        return self._forms[indexes]


def _index(data: bytes, at: int) -> tuple[int, int]:
    """A whole number from 0 on, and where it ends."""
    number = 0
    for place, byte in enumerate(data[at : at + _MOST_BYTES]):
        number |= (byte & 127) << 7 * place
        if byte < 128:
            if number & 1:
                break
            return number >> 1, at + place + 1
    msg = "the bytes behind the schema's id do not say which message of the schema follows"
    raise RecordError(msg)


class ProtobufConverter(RegisteredConverter):
    """Protobuf, with its schemas in a schema registry (Confluent's, Apicurio, Karapace)."""

    name = "protobuf"
    kind = "PROTOBUF"
    options = (
        *REGISTERED,
        Option(
            "time.unit",
            "The unit of google.protobuf.Timestamp and google.type.TimeOfDay in schemas of others: us, or ns where they are finer; "
            "values are then whole numbers.",
            default=Unit.MICROSECONDS.value,
            choices=(Unit.MICROSECONDS.value, Unit.NANOSECONDS.value),
        ),
    )

    def form_of(self, schema: Schema) -> tuple[RegisteredSchema, ProtobufFile]:
        """The .proto file of a schema, of which the same schema is read again."""
        text = to_proto(schema)
        form = ProtobufFile(compiled(text, {}))
        if form.schema != schema:
            msg = (
                "the schema cannot be written as Protobuf so that the same one is read: a default that is not of its type. "
                f"The schema in Protobuf: {text[:1_000]}"
            )
            raise RecordError(msg)
        return RegisteredSchema(self.kind, text), form

    def form_from(self, registered: RegisteredSchema, references: Mapping[str, str]) -> ProtobufFile:
        """What a .proto file stands for."""
        return ProtobufFile(compiled(registered.text, references), Unit(self.config["time.unit"]))

    def _reader_at(self, data: bytes) -> tuple[Form, int]:
        form, start = super()._reader_at(data)
        return cast("ProtobufFile", form).at(data, start)
