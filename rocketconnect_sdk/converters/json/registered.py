"""JSON whose schemas are in a registry, as Confluent's converter for Kafka Connect writes and reads it."""

from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema_rs
import msgspec

from rocketconnect_sdk.converters.json.entries import from_entries, to_entries, with_entries
from rocketconnect_sdk.converters.json.reading import why
from rocketconnect_sdk.converters.json.registered_schema import from_json_schema, to_json_schema
from rocketconnect_sdk.converters.json.unions import has_unions, with_fields, without_fields
from rocketconnect_sdk.converters.json.values import Values
from rocketconnect_sdk.converters.registered import REGISTERED, Form, RegisteredConverter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Kind, Option
from rocketconnect_sdk.registry import RegisteredSchema
from rocketconnect_sdk.schema import Schema, Type


class JsonForm(Form):
    """How values of a schema are written and read as JSON.

    Attributes:
        schema: The schema.
        name: The name of the struct; empty: it is none, or has none.

    Args:
        schema: See there.
        validator: Of jsonschema_rs: what is read must be valid; None: not looked at.
    """

    def __init__(self, schema: Schema, validator: Any = None) -> None:
        self.schema = schema
        self.name = schema.name if schema.type is Type.STRUCT else ""
        shape = with_entries(schema)
        self._values = Values(shape)
        self._has_entries = shape != schema
        self._shape = shape
        self._has_unions = has_unions(shape)
        self._validator = validator

    def encode(self, value: object) -> bytes:
        """The JSON of a value. Raises RecordError: it does not fit the schema."""
        text = self._values.encode(to_entries(self.schema, value) if self._has_entries else value)
        return without_fields(self._shape, text) if self._has_unions else text

    def encode_many(self, values: Sequence[object]) -> list[bytes]:
        """See Form."""
        return super().encode_many(values) if self._has_entries or self._has_unions else self._values.encode_many(values)

    def decode(self, data: bytes, start: int) -> object:
        """The value of JSON from there on. Raises RecordError: it does not fit the schema, or is not valid."""
        text = data[start:]
        self._validate(text)
        value = self._values.decode(with_fields(self._shape, text) if self._has_unions else text)
        if value is None:
            msg = "the value is null, for which a message without a body stands here"
            raise RecordError(msg)
        return from_entries(self.schema, value) if self._has_entries else value

    def decode_many(self, data: Sequence[bytes], start: int) -> Sequence[object]:
        """See Form."""
        if self._has_entries or self._has_unions:
            return super().decode_many(data, start)
        for item in data if self._validator is not None else ():
            self._validate(item[start:])
        values = self._values.decode_many(data, start, None)
        return super().decode_many(data, start) if None in values else values

    def _validate(self, text: bytes) -> None:
        if self._validator is None:
            return
        try:
            self._validator.validate(msgspec.json.decode(text))
        except jsonschema_rs.ValidationError as error:
            place = "/".join(map(str, error.instance_path))
            msg = f"the value is not valid under its schema, at {place or 'the top'}: {error.message[:300]}"
            raise RecordError(msg) from None
        except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError) as error:
            msg = f"the value is no JSON that can be validated: {why(error, text)}"
            raise RecordError(msg) from None


class JsonSchemaConverter(RegisteredConverter):
    """JSON, with its schemas (JSON Schema) in a schema registry."""

    name = "json_schema"
    kind = "JSON"
    options = (
        *REGISTERED,
        Option(
            "json.fail.invalid.schema",
            "A message that is read has to be valid under its JSON Schema: limits, patterns and all.",
            Kind.BOOL,
            "false",
        ),
    )

    def form_of(self, schema: Schema) -> tuple[RegisteredSchema, JsonForm]:
        """The JSON Schema of a schema, of which the same schema is read again."""
        text = to_json_schema(schema)
        if from_json_schema(text, {}) != schema:
            msg = (
                "the schema cannot be written as JSON Schema so that the same one is read: two parameters of one name, keys of a "
                f"map that are text with a name or null, or a name that means a type of its own. The JSON Schema: {text[:1_000]}"
            )
            raise RecordError(msg)
        return RegisteredSchema(self.kind, text), JsonForm(schema)

    def form_from(self, registered: RegisteredSchema, references: Mapping[str, str]) -> JsonForm:
        """What a JSON Schema stands for."""
        schema = from_json_schema(registered.text, references)
        return JsonForm(schema, _validator(registered.text, references) if self.config["json.fail.invalid.schema"] else None)


def _validator(text: str, references: Mapping[str, str]) -> Any:
    def retrieve(name: str) -> Any:
        # What a schema refers to is in the registry: no other address that stands in it is ever asked.
        found = next((other for reference, other in references.items() if name.endswith(reference)), None)
        if found is None:
            msg = f"{name} is not among the references"
            raise ValueError(msg)
        return msgspec.json.decode(found)

    try:
        return jsonschema_rs.validator_for(msgspec.json.decode(text), retriever=retrieve)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        msg = f"it is no JSON Schema that values can be validated with: {str(error)[:300]}"
        raise RecordError(msg) from None
