"""Change envelopes, as whoever writes to a target knows them by their fields. Pure."""

ENVELOPE = frozenset({"op", "before", "after"})
"""The fields that make a value a change envelope."""
NO_DELETION = (
    "there is no value: it says that a row is gone, and delete.enabled is false. Set it, and pk.mode=record_key to delete by key"
)
"""What is wrong with a record without a value."""
