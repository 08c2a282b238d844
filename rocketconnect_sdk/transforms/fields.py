"""Transforms of the fields of a struct: each says once for a schema what becomes of its fields; that is done to one row or many."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, TypeVar, cast

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.schema import Field, Schema, Type
from rocketconnect_sdk.transforms.base import ON, Record, Records, Transform, given, given_many, put, put_many
from rocketconnect_sdk.transforms.defaults import filled, filled_many, replaces_null
from rocketconnect_sdk.transforms.paths import Path, read_path

Named = tuple[str, Schema | None]
"""A field: its name, and its schema where values have one."""

T = TypeVar("T")
Change = Callable[[Sequence[Named], Mapping[str, T]], Sequence["Out"]]
"""See nested."""

_PLANS = 64
_NO_FIELDS = (Type.MAP, Type.ARRAY, Type.JSON)


@dataclass(frozen=True, slots=True)
class Out:
    """One field of what comes out.

    Attributes:
        name: Its name.
        schema: Its schema; None where values have none.
        source: The name of the field that it is made of; None: of none, then it is `constant` or `of_record`.
        convert: What becomes of a value of that field, nulls included; None: it stays. Raises RecordError when it can't.
        convert_array: The same as `convert` for an Arrow array of that field, giving one of the new schema; None: value by value.
        constant: See source.
        of_record: Gives it for a record, of which it may look at everything but value and key.
    """

    name: str
    schema: Schema | None
    source: str | None = None
    convert: Callable[[Any], object] | None = None
    convert_array: Callable[[Any], Any] | None = None
    constant: object = None
    of_record: Callable[[Record], object] | None = None


def kept(field: Named, name: str = "") -> Out:
    """The field as it is, perhaps under another name."""
    return Out(name or field[0], field[1], field[0])


def nested(names: Sequence[Named], wanted: Mapping[str, T], change: Change[T]) -> Sequence[Out]:
    """What comes out where fields within fields are changed, too.

    A name that is that of a field means it, whatever signs it has. Other names are paths: see rocketconnect_sdk.transforms.paths.
    What is not there does nothing.

    Args:
        names: The fields that come in.
        wanted: By name or path what is to become of the field.
        change: Makes what comes out of the fields of one struct, of which it is told those of `wanted` that are among them.

    Raises:
        RecordError: also, a path leads into a map, an array or JSON, which can hold what it names, and have no fields.
    """
    there = {name for name, _ in names}
    return _nested(names, {(name,) if name in there else _steps(name): what for name, what in wanted.items()}, change)


def _steps(text: str) -> Path:
    try:
        return read_path(text)
    except ValueError:
        return (text,)


def _nested(names: Sequence[Named], wanted: Mapping[Path, T], change: Change[T]) -> Sequence[Out]:
    here = {path[0]: what for path, what in wanted.items() if len(path) == 1}
    within: dict[str, dict[Path, T]] = {}
    for path, what in wanted.items():
        if path[0] not in here:
            within.setdefault(path[0], {})[path[1:]] = what
    return [_within(out, within[out.source], change) if out.source in within else out for out in change(names, here)]


def _within(out: Out, wanted: Mapping[Path, T], change: Change[T]) -> Out:
    if out.schema is None:

        def untyped(value: Any) -> object:
            if not isinstance(value, Mapping):
                return value
            return _row(value, _nested([(name, None) for name in value], wanted, change), None)

        return replace(out, convert=untyped)
    if out.schema.type in _NO_FIELDS:
        inner = ".".join(next(iter(wanted)))
        kind = type_name(out.schema)
        msg = f"the field {out.name} is {kind}, in which {inner} can't be named as a field: change it as a whole"
        raise RecordError(msg)
    if out.schema.type is not Type.STRUCT:
        return out
    outs = _nested([(field.name, field.schema) for field in out.schema.fields], wanted, change)
    shaped = _shaped(out.schema, outs)

    def of_array(array: Any) -> Any:
        return _struct(array, outs, shaped, ())

    return replace(
        out, schema=shaped, convert=lambda value: None if value is None else _row(value, outs, None), convert_array=of_array
    )


class FieldsTransform(Transform):
    """A transform that makes a struct of a struct. Tombstones pass."""

    options: ClassVar[Sequence[Option]] = (ON,)

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._outs = lru_cache(_PLANS)(self._checked)

    @abstractmethod
    def fields(self, names: Sequence[Named]) -> Sequence[Out]:
        """What comes out, in order, where these come in.

        Raises:
            RecordError: it can't be done to a struct of these fields.
        """

    def apply(self, record: Record) -> Record:
        """See Transform."""
        value, schema = given(record, self.config)
        if value is None:
            return record
        # A map has entries, which a struct of the fields that its schema has would not have.
        if not isinstance(value, Mapping) or (schema is not None and schema.type is not Type.STRUCT):
            kind = type(value).__name__ if schema is None else type_name(schema)
            msg = f"the {self.config['on']} is no struct, whose fields {self.name} could change, but {kind}"
            raise RecordError(msg)
        if replaces_null(self.config):
            value = cast("Mapping[str, object]", filled(value, schema))
        outs = self._outs(tuple(value) if schema is None else schema)
        shaped = None if schema is None else _shaped(schema, outs)
        return put(record, self.config, _row(value, outs, record), shaped)

    def apply_many(self, records: Records) -> Records | None:
        """See Transform."""
        values, schema = given_many(records, self.config)
        if schema is None or schema.type is not Type.STRUCT or values is None:
            return None
        if replaces_null(self.config):
            values = filled_many(values, schema)
        outs = self._outs(schema)
        shaped = _shaped(schema, outs)
        of_struct = _column if isinstance(values, Column) and outs else _rows
        new = of_struct(values, outs, shaped, records)
        return put_many(records, self.config, new, shaped)

    def _checked(self, shape: "Schema | tuple[str, ...]") -> Sequence[Out]:
        if isinstance(shape, Schema):
            outs = self.fields([(field.name, field.schema) for field in shape.fields])
        else:
            outs = self.fields([(name, None) for name in shape])
        names = [out.name for out in outs]
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            msg = f"{self.name} would give several fields the name {', '.join(map(repr, doubled))}"
            raise RecordError(msg)
        return outs


@lru_cache(maxsize=256)
def _schema_of(schema: Schema, fields: tuple[Field, ...]) -> Schema:
    # The same object for the same schema: what comes behind compares them.
    return replace(schema, fields=fields)


def _shaped(schema: Schema, outs: Sequence[Out]) -> Schema:
    return _schema_of(schema, tuple(Field(out.name, out.schema) for out in outs if out.schema is not None))


def _row(value: Mapping[str, object], outs: Sequence[Out], record: Record | None) -> dict[str, object]:
    row = {}
    for out in outs:
        if out.source is not None:
            held = value.get(out.source)
            row[out.name] = held if out.convert is None else out.convert(held)
        else:
            row[out.name] = out.constant if out.of_record is None or record is None else out.of_record(record)
    return row


def _rows(values: Sequence[object], outs: Sequence[Out], shaped: Schema, records: Records) -> Sequence[object]:
    del shaped
    abouts = _abouts(records) if any(out.of_record for out in outs) else [None] * len(values)
    rows: list[object] = []
    for value, about in zip(values, abouts, strict=True):
        if value is not None and not isinstance(value, Mapping):
            msg = f"a value is no struct: {type(value).__name__}"
            raise RecordError(msg)
        rows.append(None if value is None else _row(value, outs, about))
    return rows


def _abouts(records: Records) -> Sequence[Record]:
    return replace(records, values=[None] * len(records), keys=None).each()


def _column(values: Sequence[object], outs: Sequence[Out], shaped: Schema, records: Records) -> Sequence[object]:
    array: Any = values.array if isinstance(values, Column) else values
    return Column(_struct(array, outs, shaped, _abouts(records) if any(out.of_record for out in outs) else ()))


def _struct(array: Any, outs: Sequence[Out], shaped: Schema, abouts: Sequence[Record]) -> Any:
    import pyarrow as pa

    from rocketconnect_sdk.arrow import to_array
    from rocketconnect_sdk.columns.arrow_types import to_arrow_type

    columns = dict(zip((field.name for field in array.type), array.flatten(), strict=True))
    arrays = []
    for out in outs:
        if out.source is None:
            made = [out.constant] * len(array) if out.of_record is None else [*map(out.of_record, abouts)]
            arrays.append(to_array(made, out.schema))
        elif out.convert is None:
            arrays.append(columns[out.source])
        elif out.convert_array is not None:
            arrays.append(out.convert_array(columns[out.source]))
        else:
            arrays.append(_converted(columns[out.source], array, out))
    return pa.StructArray.from_arrays(arrays, fields=list(to_arrow_type(shaped)), mask=array.is_null())


def _converted(column: Any, rows: Any, out: Out) -> Any:
    """Value by value; nothing is made of a field of a tombstone."""
    from rocketconnect_sdk.arrow import to_array

    convert = out.convert or (lambda value: value)
    there = rows.is_valid().to_pylist() if rows.null_count else [True] * len(rows)
    made = [convert(value) if is_there else None for value, is_there in zip(Column(column), there, strict=True)]
    return to_array(made, out.schema)
