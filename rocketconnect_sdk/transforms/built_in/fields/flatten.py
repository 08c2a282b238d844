"""flatten: structs within a struct as fields of it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.transforms.base import ON, Record, given, put
from rocketconnect_sdk.transforms.defaults import REPLACE_NULL, filled, filled_array, replaces_null
from rocketconnect_sdk.transforms.fields import FieldsTransform, Named, Out, kept
from rocketconnect_sdk.transforms.paths import Path, array_at, schema_at, value_at


class Flatten(FieldsTransform):
    """Makes fields of structs within fields of the whole. Arrays stay, and so do maps where there is a schema.

    Fields of a struct that may be null become optional. Without a schema maps cannot be told from structs, and are flattened,
    too.
    """

    name: ClassVar[str] = "flatten"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.Flatten",)
    options: ClassVar[Sequence[Option]] = (
        ON,
        Option("delimiter", "What stands between the names: address.city.", default="."),
        REPLACE_NULL,
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._between: str = config["delimiter"]

    def apply(self, record: Record) -> Record:
        """See Transform."""
        value, schema = given(record, self.config)
        if schema is not None or not isinstance(value, Mapping):
            return super().apply(record)
        flat: dict[str, object] = {}
        for path, leaf in _leaves(value, ()):
            name = self._between.join(path)
            if name in flat:
                msg = f"flatten would give several fields the name {name!r}"
                raise RecordError(msg)
            flat[name] = leaf
        return put(record, self.config, flat, None)

    def fields(self, names: Sequence[Named]) -> Sequence[Out]:
        """See FieldsTransform."""
        outs = []
        for name, schema in names:
            if schema is None or schema.type is not Type.STRUCT:
                outs.append(kept((name, schema)))
                continue
            for path in _paths(schema, ()):
                found = schema_at(schema, path, optional=schema.optional)
                convert, of_array = partial(self._held, path, schema), partial(self._array, path, found)
                outs.append(Out(self._between.join((name, *path)), found, name, convert, of_array))
        return outs

    def _held(self, path: Path, schema: Schema, value: Any) -> object:
        around = value_at(value, path[:-1], schema)
        if around is None:
            return None
        # Of no struct that is null a field has its default.
        if replaces_null(self.config):
            around = filled(around, schema_at(schema, path[:-1]))
        return value_at(around, path[-1:], schema)

    def _array(self, path: Path, found: Schema, array: Any) -> Any:
        held = array_at(array, path)
        return filled_array(held, found, array_at(array, path[:-1]).is_valid()) if replaces_null(self.config) else held


def _paths(schema: Schema, path: Path) -> Iterator[Path]:
    for field in schema.fields:
        if field.schema.type is Type.STRUCT:
            yield from _paths(field.schema, (*path, field.name))
        else:
            yield (*path, field.name)


def _leaves(value: Mapping[str, object], path: Path) -> Iterator[tuple[Path, object]]:
    for name, item in value.items():
        if isinstance(item, Mapping):
            yield from _leaves(item, (*path, name))
        else:
            yield (*path, name), item
