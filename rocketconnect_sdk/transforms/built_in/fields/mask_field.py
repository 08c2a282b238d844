"""mask_field: hides what is in fields."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.schema import BYTES, STRING, WHOLE, Schema, Type, decimal, timestamp
from rocketconnect_sdk.transforms.base import ON
from rocketconnect_sdk.transforms.casting import cast
from rocketconnect_sdk.transforms.defaults import REPLACE_NULL
from rocketconnect_sdk.transforms.fields import FieldsTransform, Named, Out, kept, nested
from rocketconnect_sdk.transforms.moments import MOMENTS, moment
from rocketconnect_sdk.transforms.paths import PATHS

_NOTHING: Mapping[Type, object] = {
    **dict.fromkeys(WHOLE, 0),
    Type.BOOLEAN: False,
    Type.FLOAT32: 0.0,
    Type.FLOAT64: 0.0,
    Type.STRING: "",
    Type.BYTES: b"",
    Type.UUID: UUID(int=0),
    Type.JSON: "null",
    Type.ARRAY: [],
    Type.MAP: {},
}
_SCHEMAS: Mapping[type, Schema] = {
    bool: Schema(Type.BOOLEAN),
    int: Schema(Type.INT64),
    float: Schema(Type.FLOAT64),
    str: STRING,
    bytes: BYTES,
    date: Schema(Type.DATE),
    time: Schema(Type.TIME),
    UUID: Schema(Type.UUID),
    list: Schema(Type.ARRAY),
    dict: Schema(Type.MAP),
}
"""Of values without a schema."""


class MaskField(FieldsTransform):
    """Puts the same in the place of every value of some fields. A null stays null; fields that are not there do nothing.

    Nothing in its type is: false, 0, an empty text, no bytes, 1970-01-01, midnight, 1970-01-01T00:00:00, the UUID of zeros, the
    JSON null, an empty array or map. A struct can't be masked: name its fields (after.secret), or use set_null.
    """

    name: ClassVar[str] = "mask_field"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.MaskField",)
    options: ClassVar[Sequence[Option]] = (
        ON,
        Option("fields", f"The fields that are masked, separated by commas; {PATHS}.", Kind.LIST, required=True, example="name"),
        Option(
            "replacement",
            "What they get, read as cast reads a text. Without it: what is nothing in their type (0, false, an empty text, 1970).",
            check=lambda text: None if text else "is empty",
            fix="Give a text or number, or leave it out for what is nothing in the type of the field.",
        ),
        REPLACE_NULL,
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._masked = dict.fromkeys(config["fields"])

    def fields(self, names: Sequence[Named]) -> Sequence[Out]:
        """See FieldsTransform."""
        return nested(names, self._masked, self._change)

    def _change(self, names: Sequence[Named], masked: Mapping[str, None]) -> Sequence[Out]:
        return [self._out(name, schema) if name in masked else kept((name, schema)) for name, schema in names]

    def _out(self, name: str, schema: Schema | None) -> Out:
        if schema is None:
            return Out(name, None, name, partial(self._mask_untyped, name))
        mask = self._mask(name, schema)

        def of_array(array: Any) -> Any:
            import pyarrow as pa

            from rocketconnect_sdk.arrow import to_array

            return to_array([mask, None], schema).take(array.is_null().cast(pa.int8()))

        return Out(name, schema, name, lambda value: None if value is None else mask, of_array)

    def _mask_untyped(self, name: str, value: object) -> object:
        if value is None:
            return None
        if isinstance(value, datetime):
            return self._mask(name, timestamp(zone=value.tzinfo is not None))
        if isinstance(value, Decimal):
            return self._mask(name, decimal(max(0, -int(value.as_tuple().exponent))))
        schema = _SCHEMAS.get(type(value))
        if schema is None:
            msg = f"the field {name} can't be masked: its value is a {type(value).__name__}"
            raise RecordError(msg)
        return self._mask(name, schema)

    def _mask(self, name: str, schema: Schema) -> object:
        replacement = self.config["replacement"]
        if replacement is not None:
            try:
                return cast(replacement, STRING, schema)
            except ValueError as error:
                msg = f"the field {name} can't be masked: the replacement {replacement[:200]!r} {error}"
                raise RecordError(msg) from None
        if schema.type is Type.DECIMAL:
            return Decimal((0, (0,), -schema.scale))
        if schema.type in MOMENTS:
            return moment(0, schema)
        if schema.type not in _NOTHING:
            msg = f"the field {name} can't be masked: it is a {type_name(schema)}"
            raise RecordError(msg)
        return _NOTHING[schema.type]
