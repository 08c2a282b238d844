"""extract_nested_field: a field of a struct within, beside it."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.transforms.base import ON
from rocketconnect_sdk.transforms.fields import FieldsTransform, Named, Out, kept
from rocketconnect_sdk.transforms.paths import array_at, schema_at, value_at


class ExtractNestedField(FieldsTransform):
    """Adds a field with what a field of a struct within has; the struct stays. Null where the struct is.

    RocketMQ Connect's has the option for the name of the new field, too, but gives it the name of the inner one.
    """

    name: ClassVar[str] = "extract_nested_field"
    aliases: ClassVar[Sequence[str]] = ("org.apache.rocketmq.connect.transforms.ExtractNestedField",)
    options: ClassVar[Sequence[Option]] = (
        ON,
        Option("input.outer.field.name", "The field that is a struct.", required=True, example="customer"),
        Option("input.inner.field.name", "The field of that struct.", required=True, example="city"),
        Option("output.field.name", "The field that is added.", required=True, example="city"),
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._outer, self._inner = config["input.outer.field.name"], config["input.inner.field.name"]

    def fields(self, names: Sequence[Named]) -> Sequence[Out]:
        """See FieldsTransform."""
        there = dict(names)
        if self._outer not in there:
            msg = f"there is no field {self._outer}; those that are there: {', '.join(there)[:200] or 'none'}"
            raise RecordError(msg)
        outer, path = there[self._outer], (self._inner,)
        inner = None if outer is None else schema_at(outer, path, optional=outer.optional)

        def found(value: Any) -> object:
            return value_at(value, path, outer)

        name = self.config["output.field.name"]
        return [*map(kept, names), Out(name, inner, self._outer, found, partial(array_at, path=path))]
