"""Change envelopes, as whoever writes to a target knows them by their fields. Pure, and without Arrow."""

from rocketconnect_sdk.schema import Schema, Type

ENVELOPE = frozenset({"op", "before", "after"})
"""The fields that make a value a change envelope."""
NO_DELETION = (
    "there is no value: it says that a row is gone, and delete.enabled is false. Set it, and pk.mode=record_key to delete by key"
)
"""What is wrong with a record without a value."""


def row_schema(schema: Schema) -> Schema | None:
    """The schema of the rows of values: of a change envelope that of `after`; None: they are no rows."""
    if schema.type is not Type.STRUCT:
        return None
    fields = {each.name: each.schema for each in schema.fields}
    if not is_envelope(schema):
        return schema
    return fields["after"] if fields["after"].type is Type.STRUCT else None


def is_envelope(schema: Schema) -> bool:
    """Whether values are change envelopes: those of rocketconnect_sdk.changes and of Debezium."""
    return {each.name for each in schema.fields} >= ENVELOPE
