"""cast: fields, or the whole value, as another type."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.schema import WHOLE, Schema, Type
from rocketconnect_sdk.transforms.base import ON, Record, Records, given, given_many, put, put_many
from rocketconnect_sdk.transforms.casting import cast
from rocketconnect_sdk.transforms.defaults import REPLACE_NULL
from rocketconnect_sdk.transforms.fields import FieldsTransform, Named, Out, kept, nested
from rocketconnect_sdk.transforms.paths import PATHS
from rocketconnect_sdk.transforms.texts import shown
from rocketconnect_sdk.transforms.type_names import TYPES, read_type

_BETWEEN = re.compile(r"[,;](?![^()]*\))")
"""Not the comma of decimal(10,2)."""


def _read(spec: str) -> tuple[dict[str, Schema], Schema | None]:
    """The types of fields, or that of the whole value."""
    fields: dict[str, Schema] = {}
    parts = [part.strip() for part in _BETWEEN.split(spec) if part.strip()]
    if len(parts) == 1 and ":" not in parts[0]:
        return {}, read_type(parts[0])
    for part in parts:
        name, _, kind = (each.strip() for each in part.rpartition(":"))
        if not name:
            msg = f"has {part!r} instead of field:type"
            raise ValueError(msg)
        if name in fields:
            msg = f"names the field {name} twice"
            raise ValueError(msg)
        fields[name] = read_type(kind)
    if not fields:
        msg = "names no type"
        raise ValueError(msg)
    return fields, None


def _spec_problem(spec: str) -> str | None:
    try:
        _read(spec)
    except ValueError as error:
        return str(error)
    return None


class Cast(FieldsTransform):
    """Makes values of one type values of another. Nothing is rounded or cut off: what does not fit is a bad record."""

    name: ClassVar[str] = "cast"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.Cast",)
    options: ClassVar[Sequence[Option]] = (
        ON,
        Option(
            "spec",
            f"field:type, several with commas; {PATHS}; or one type, for a value that is no struct. Types: {TYPES}.",
            required=True,
            check=_spec_problem,
            fix="Write for instance id:int64,price:decimal(10,2), or int32 for the whole value.",
            example="id:int64,price:decimal(10,2)",
        ),
        REPLACE_NULL,
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._fields, self._whole = _read(config["spec"])

    def apply(self, record: Record) -> Record:
        """See Transform."""
        if self._whole is None:
            return super().apply(record)
        value, schema = given(record, self.config)
        if value is None:
            return record
        what = f"the {self.config['on']}"
        shaped = None if schema is None else _shaped(what, schema, self._whole)
        return put(record, self.config, _cast(what, schema, self._whole, value), shaped)

    def apply_many(self, records: Records) -> Records | None:
        """See Transform."""
        if self._whole is None:
            return super().apply_many(records)
        values, schema = given_many(records, self.config)
        if schema is None or values is None:
            return None
        what = f"the {self.config['on']}"
        shaped = _shaped(what, schema, self._whole)
        of_array = _of_array(schema, shaped)
        if isinstance(values, Column) and of_array is not None:
            new: Sequence[object] = Column(of_array(values.array))
        else:
            new = [_cast(what, schema, self._whole, value) for value in values]
        return put_many(records, self.config, new, shaped)

    def fields(self, names: Sequence[Named]) -> Sequence[Out]:
        """See FieldsTransform."""
        return nested(names, self._fields, _change)


def _change(names: Sequence[Named], types: Mapping[str, Schema]) -> Sequence[Out]:
    return [_out(name, schema, types[name]) if name in types else kept((name, schema)) for name, schema in names]


def _out(name: str, schema: Schema | None, target: Schema) -> Out:
    what = f"the field {name}"
    shaped = None if schema is None else _shaped(what, schema, target)
    of_array = None if schema is None or shaped is None else _of_array(schema, shaped)
    return Out(name, shaped, name, partial(_cast, what, schema, target), of_array)


def _cast(what: str, source: Schema | None, target: Schema, value: object) -> object:
    if value is None:
        return None
    try:
        return cast(value, source, target)
    except ValueError as error:
        kind = type_name(source) if source is not None else type(value).__name__
        msg = f"{what} can't be cast from {kind} to {type_name(target)}: {shown(value, source)} {error}"
        raise RecordError(msg) from None


def _shaped(what: str, source: Schema, target: Schema) -> Schema:
    default = _cast(f"the default of {what}", source, target, source.default)
    return replace(target, optional=source.optional, doc=source.doc, default=default)  # type: ignore[arg-type]  # of no struct


def _of_array(source: Schema, target: Schema) -> Callable[[Any], Any] | None:
    """The same for a whole array, where Arrow does exactly that."""
    to_whole = source.type in WHOLE and target.type in WHOLE
    to_text = target.type is Type.STRING and (source.type in WHOLE or source.type in (Type.BOOLEAN, Type.STRING))
    if to_whole or to_text:
        from rocketconnect_sdk.columns.arrow_types import to_arrow_type

        # Safe: a number that does not fit is an error.
        return lambda array: array.cast(to_arrow_type(target))
    return None
