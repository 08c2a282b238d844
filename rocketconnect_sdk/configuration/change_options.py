"""The options of sinks that keep tables as changes say."""

from rocketconnect_sdk.options import Kind, Option

RECORD_KEY = "record_key"
PK_MODE = Option(
    "pk.mode",
    "Where the key of a row is, with upsert. record_value: in the value. record_key: in the key of the record, a JSON "
    "object or, where the key has one column, a plain value; a record without a value then deletes the row of its key.",
    default="record_value",
    choices=("record_value", RECORD_KEY),
)
DELETE_ENABLED = Option(
    "delete.enabled",
    "Deletions, in change envelopes or as records without a value, delete rows; else they are bad records.",
    Kind.BOOL,
    "false",
)
TRUNCATE_ENABLED = Option(
    "truncate.enabled", "Truncations in change envelopes delete all rows; else they are bad records.", Kind.BOOL, "false"
)
