"""set_maximum_precision: decimals with fewer digits."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.transforms.base import ON
from rocketconnect_sdk.transforms.casting import cast
from rocketconnect_sdk.transforms.fields import FieldsTransform, Named, Out, kept
from rocketconnect_sdk.transforms.texts import shown


class SetMaximumPrecision(FieldsTransform):
    """Gives decimals that may have more digits a type with at most so many. A number that has more is a bad record.

    Only decimals of values with a schema have a precision. The digits behind the point stay: where there are more of them than
    precision.max, the record is a bad one.
    """

    name: ClassVar[str] = "set_maximum_precision"
    aliases: ClassVar[Sequence[str]] = ("org.apache.rocketmq.connect.transforms.SetMaximumPrecision",)
    options: ClassVar[Sequence[Option]] = (
        ON,
        Option(
            "precision.max",
            "How many digits decimals have at most, those behind the point included.",
            Kind.INT,
            required=True,
            minimum=1,
            maximum=76,
            example="18",
        ),
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._most: int = config["precision.max"]

    def fields(self, names: Sequence[Named]) -> Sequence[Out]:
        """See FieldsTransform."""
        return [
            self._out(name, schema)
            if schema is not None and schema.type is Type.DECIMAL and schema.precision > self._most
            else kept((name, schema))
            for name, schema in names
        ]

    def _out(self, name: str, schema: Schema) -> Out:
        if schema.scale > self._most:
            msg = f"the field {name} has {schema.scale} digits behind its point, more than {self._most} (precision.max)"
            raise RecordError(msg)
        shaped = replace(schema, precision=self._most)
        return Out(name, shaped, name, partial(_checked, name, schema, shaped))


def _checked(name: str, schema: Schema, shaped: Schema, value: Any) -> object:
    if value is None:
        return None
    try:
        return cast(value, schema, shaped)
    except ValueError as error:
        msg = f"the field {name} can't have at most {shaped.precision} digits: {shown(value, schema)} {error}"
        raise RecordError(msg) from None
