"""What a converter is: records to message bytes and back."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.schema import Schema


class Converter(ABC):
    """Turns keys or values into bytes and back. One instance serves the keys or the values of one task, in one thread.

    Class attributes:
        name: What users write into key.converter and value.converter.
        options: Its options, given with the prefix "key.converter." or "value.converter.".
    """

    name: ClassVar[str]
    options: ClassVar[Sequence[Option]] = ()

    def __init__(self, config: Config, *, is_key: bool) -> None:
        self.config = config
        self.is_key = is_key

    @abstractmethod
    def encode(self, value: object, schema: Schema | None) -> bytes:
        """The bytes of a value that is not None (a None is a tombstone: no bytes, made by the runtime).

        Raises:
            RecordError: the value can't be written in this form.
        """

    @abstractmethod
    def decode(self, data: bytes) -> tuple[object, Schema | None]:
        """The value of bytes, and its schema where the form carries or implies one.

        Raises:
            RecordError: these bytes are not of this form. Never anything else, whatever the bytes are.
        """

    def encode_many(self, values: Sequence[object], schema: Schema | None) -> list[bytes]:
        """Encode for each of them, at once. Same bytes as encode.

        Raises:
            RecordError: at least one can't be written; the caller then finds it by encode.
        """
        encode = self.encode
        return [encode(value, schema) for value in values]

    def decode_many(self, data: Sequence[bytes]) -> tuple[Sequence[object], Schema | None]:
        """Decode for each of them, at once, when all have the same schema.

        Raises:
            RecordError: at least one is bad, or schemas differ; the caller then uses decode.
        """
        pairs = [self.decode(item) for item in data]
        schemas = {schema for _, schema in pairs}
        if len(schemas) > 1:
            msg = f"{len(schemas)} different schemas in one batch"
            raise RecordError(msg)
        return [value for value, _ in pairs], next(iter(schemas), None)
