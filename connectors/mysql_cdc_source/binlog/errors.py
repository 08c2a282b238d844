"""What the binlog library raises. Every error says what to do."""

from rocketconnect_sdk.errors import PermanentError


class MalformedEvent(PermanentError):
    """Bytes that are no binlog event, or one that is not read; the text says which and why. Nothing else comes of bad bytes."""


class PositionPurged(PermanentError):
    """The server no longer has the position to start from; the text names it, and what the server still has."""


class NotAllowed(PermanentError):
    """The user lacks privileges; the text has the GRANT of each, or says that the password is wrong."""


class NotReady(PermanentError):
    """The server does not write the log that is needed; the text has the settings to change."""
