"""The RocketMQ that comes with RocketConnect: a real name server and a real broker as child processes of one machine.

Owns the list of its jars and the launcher; rocketconnect_kit.java finds Java and fetches jars.
Never fakes RocketMQ, and never touches an existing installation.
"""

from rocketconnect_cli.embedded.errors import (
    DataDirectoryInUse,
    DataDirectoryUnusable,
    EmbeddedRocketMQError,
    PortInUse,
    StartFailed,
)
from rocketconnect_cli.embedded.rocketmq import EmbeddedRocketMQ

__all__ = [
    "DataDirectoryInUse",
    "DataDirectoryUnusable",
    "EmbeddedRocketMQ",
    "EmbeddedRocketMQError",
    "PortInUse",
    "StartFailed",
]
