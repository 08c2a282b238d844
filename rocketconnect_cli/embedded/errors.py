"""What can go wrong with the embedded RocketMQ; every message says what to do about it.

EmbeddedRocketMQError
|-- JavaMissing           no Java of version 17 or newer
|-- JarsUnavailable       RocketMQ's jars are not here and could not be downloaded
|-- DataDirectoryInUse    another broker works on the same data directory
|-- DataDirectoryUnusable the data directory can't be made or written
|-- PortInUse             a port that was asked for belongs to somebody else
`-- StartFailed           a process ended, or did not answer in time
"""


class EmbeddedRocketMQError(Exception):
    """The embedded RocketMQ can't run; the text is for the user."""


class JavaMissing(EmbeddedRocketMQError):
    """No Java 17 or newer was found on this machine."""


class JarsUnavailable(EmbeddedRocketMQError):
    """The jars are neither cached nor given, and could not be resolved."""


class DataDirectoryInUse(EmbeddedRocketMQError):
    """The data directory belongs to a running instance."""


class DataDirectoryUnusable(EmbeddedRocketMQError):
    """The data directory can't be made, or nothing can be written in it."""


class PortInUse(EmbeddedRocketMQError):
    """A port that was asked for is not free."""


class StartFailed(EmbeddedRocketMQError):
    """The name server or the broker ended or did not answer in time."""
