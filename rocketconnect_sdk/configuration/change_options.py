"""The options of sinks that keep tables as changes say."""

from rocketconnect_sdk.options import Kind, Option

DELETE_ENABLED = Option(
    "delete.enabled",
    "Deletions, in change envelopes or as records without a value, delete rows; else they are bad records.",
    Kind.BOOL,
    "false",
)
TRUNCATE_ENABLED = Option(
    "truncate.enabled", "Truncations in change envelopes delete all rows; else they are bad records.", Kind.BOOL, "false"
)
