"""What a converter is: records to message bytes and back."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from rocketconnect_sdk.errors import Problem, RecordError
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.schema import Schema


class Decoded(NamedTuple):
    """A record of a message that may have several.

    Attributes:
        value: Its value; a RecordError: this record alone is bad.
        key: Its key; None: it has none of its own, and is of that of the message.
        timestamp_ms: Its time in milliseconds since 1970; None: that of the message.
    """

    value: object
    key: object = None
    timestamp_ms: int | None = None


class Converter(ABC):
    """Turns keys or values into bytes and back. One instance serves the keys or the values of one task, in one thread.

    Class attributes:
        name: What users write into key.converter and value.converter.
        options: Its options, given with the prefix "key.converter." or "value.converter.".
        for_keys: It can be the key.converter, too.
        by_topic: What it writes depends on the topic: the runtime calls `for_topic` before it encodes.
        several: A message may have several records, or none: the runtime calls `records` in the place of `decode`.
        reads_headers: What a message has is said by its headers, too: the runtime calls `records_of` in the place of `records`.
        has_properties: Its messages have properties of their own: the runtime asks `properties_of` for them after it encoded.
        wants_columns: It writes many values of a table fastest when they are a Column (rocketconnect_sdk.columns.compact).

    Attributes:
        patience: For so many seconds a call may wait for another system; then it raises SystemAway and is made again, while what
            it waits for goes on. None: for as long as it takes. The runtime sets it, so that a task can be paused and stopped.
    """

    name: ClassVar[str]
    options: ClassVar[Sequence[Option]] = ()
    for_keys: ClassVar[bool] = True
    by_topic: ClassVar[bool] = False
    several: ClassVar[bool] = False
    reads_headers: ClassVar[bool] = False
    has_properties: ClassVar[bool] = False
    wants_columns: ClassVar[bool] = False

    def __init__(self, config: Config, *, is_key: bool) -> None:
        self.config = config
        self.is_key = is_key
        self.patience: float | None = None

    @classmethod
    def check(cls, config: Config) -> Iterable[Problem]:
        """What is wrong with options that are right each for itself. Asks no other system."""
        del config
        return ()

    @classmethod
    def reads_rows(cls, config: Config) -> bool:
        """Whether what it decodes may be rows: structs with a schema. A sink of tables whose converter reads none is refused."""
        del config
        return True

    def for_topic(self, topic: str) -> None:
        """What it encodes from now on goes to this topic."""
        del topic

    @abstractmethod
    def encode(self, value: object, schema: Schema | None) -> bytes:
        """The bytes of a value that is not None (a None is a tombstone: no bytes, made by the runtime).

        Raises:
            RecordError: the value can't be written in this form.
        """

    def properties_of(self, value: object, schema: Schema | None) -> Mapping[str, str]:
        """The properties of the message of a value that encode has written, under their names there. None is an empty text."""
        del value, schema
        return {}

    @abstractmethod
    def decode(self, data: bytes) -> tuple[object, Schema | None]:
        """The value of bytes, and its schema where the form carries or implies one.

        Raises:
            RecordError: these bytes are not of this form. Never anything else, whatever the bytes are.
        """

    def records(self, data: bytes) -> tuple[Sequence[Decoded], Schema | None]:
        """The records of a message, where `several`, in their order, and the schema of all their values.

        Raises:
            RecordError: these bytes are not of this form. Never anything else, whatever the bytes are.
        """
        value, schema = self.decode(data)
        return [Decoded(value)], schema

    def records_of(self, data: bytes, headers: Mapping[str, str]) -> tuple[Sequence[Decoded], Schema | None]:
        """The records of a message with headers, where `reads_headers`. Raises what records does."""
        del headers
        return self.records(data)

    def schema_in(self, data: bytes) -> Schema | None:
        """The schema of what a message has. Raises what decode or records does."""
        return self.records(data)[1] if self.several else self.decode(data)[1]

    def alone(self, data: bytes, row: int) -> bytes:
        """A message with one record of this one, where `several`: what a dead letter keeps, so that its replay brings it alone."""
        del row
        return data

    def encode_dry(self, value: object, schema: Schema | None) -> bytes:
        """What encode would give, for people to look at: nothing is changed in another system for it.

        What such a system would only then give a number has the number 0. Raises what encode would, as far as that is known.
        """
        return self.encode(value, schema)

    def encode_many(self, values: Sequence[object], schema: Schema | None) -> list[bytes]:
        """Encode for each of them, at once. Same bytes as encode.

        Whoever has the values as an Arrow array gives them as a Column (rocketconnect_sdk.columns.compact), so that no object is
        made of each where the form can do without.

        Raises:
            RecordError: at least one can't be written; the caller then finds it by encode.
        """
        encode = self.encode
        return [encode(value, schema) for value in values]

    def decode_rows(self, data: Sequence[bytes], columns: Schema) -> Any:
        """Values without a schema as an Arrow array of rows of columns (see columns.objects), at once; None: decode each.

        What it gives is what the values of decode would be made.
        """
        del data, columns

    def decode_many(self, data: Sequence[bytes]) -> tuple[Sequence[object], Schema | None]:
        """Decode for each of them, at once, when all have the same schema. The values may be a Column.

        Raises:
            RecordError: at least one is bad, or schemas differ; the caller then uses decode.
        """
        pairs = [self.decode(item) for item in data]
        schemas = {schema for _, schema in pairs}
        if len(schemas) > 1:
            msg = f"{len(schemas)} different schemas in one batch"
            raise RecordError(msg)
        return [value for value, _ in pairs], next(iter(schemas), None)
