"""The RocketMQ that comes with RocketConnect: a real name server and a real broker as child processes of one machine.

Owns the jars (resolved once, checked, cached), the search for Java, and the launcher.
Never fakes RocketMQ, and never touches an existing installation.
"""

from rocketconnect_cli.embedded.errors import (
    DataDirectoryInUse,
    DataDirectoryUnusable,
    EmbeddedRocketMQError,
    JarsUnavailable,
    JavaMissing,
    PortInUse,
    StartFailed,
)
from rocketconnect_cli.embedded.rocketmq import EmbeddedRocketMQ

__all__ = [
    "DataDirectoryInUse",
    "DataDirectoryUnusable",
    "EmbeddedRocketMQ",
    "EmbeddedRocketMQError",
    "JarsUnavailable",
    "JavaMissing",
    "PortInUse",
    "StartFailed",
]
