"""What can go wrong with the embedded RocketMQ; every message says what to do about it.

EmbeddedRocketMQError
|-- DataDirectoryInUse    another broker works on the same data directory
|-- DataDirectoryUnusable the data directory can't be made or written
|-- PortInUse             a port that was asked for belongs to somebody else
`-- StartFailed           a process ended, or did not answer in time

Java and jars that are missing are in rocketconnect_kit.java.errors.
"""


class EmbeddedRocketMQError(Exception):
    """The embedded RocketMQ can't run; the text is for the user."""


class DataDirectoryInUse(EmbeddedRocketMQError):
    """The data directory belongs to a running instance."""


class DataDirectoryUnusable(EmbeddedRocketMQError):
    """The data directory can't be made, or nothing can be written in it."""


class PortInUse(EmbeddedRocketMQError):
    """A port that was asked for is not free."""


class StartFailed(EmbeddedRocketMQError):
    """The name server or the broker ended or did not answer in time."""
