"""Avro, with its schemas in a registry, as Confluent's converter for Kafka Connect writes and reads it."""

from collections.abc import Mapping

from rocketconnect_sdk.converters.avro.form import AvroForm
from rocketconnect_sdk.converters.avro.schema import to_avro
from rocketconnect_sdk.converters.registered import RegisteredConverter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.registry import RegisteredSchema
from rocketconnect_sdk.schema import Schema


class AvroConverter(RegisteredConverter):
    """Avro, with its schemas in a schema registry (Confluent's, Apicurio, Karapace)."""

    name = "avro"
    kind = "AVRO"

    def form_of(self, schema: Schema) -> tuple[RegisteredSchema, AvroForm]:
        """The Avro schema of a schema, of which the same schema is read again."""
        text = to_avro(schema)
        form = AvroForm(text)
        if form.schema != schema:
            msg = (
                "the schema cannot be written as Avro so that the same one is read: a default that is not of its type, two "
                f"parameters of one name, or a name that means a type of its own. The schema in Avro: {text[:1_000]}"
            )
            raise RecordError(msg)
        return RegisteredSchema(self.kind, text), form

    def form_from(self, registered: RegisteredSchema, references: Mapping[str, str]) -> AvroForm:
        """What an Avro schema stands for."""
        return AvroForm(registered.text, references.values())
