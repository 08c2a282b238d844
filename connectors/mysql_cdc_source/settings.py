"""What is configured, as the task needs it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from connectors.databases.tls import DatabaseTls, tls_of
from connectors.mysql_cdc_source.binlog.server import Login
from connectors.mysql_cdc_source.tables import Filter, Name
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.capture import Capture
from rocketconnect_sdk.database_logs.making import Making, Path
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.schema import STRING, Schema, Type, struct

SOURCE = struct(
    [
        ("file", STRING),
        ("pos", Schema(Type.INT64)),
        ("row", Schema(Type.INT64)),
        ("gtid", Schema(Type.STRING, optional=True)),
        ("server_id", Schema(Type.INT64)),
    ]
)
"""What the field source has besides what all databases have: pos is where the event begins, row the number of the row in it."""
_LEAST_ID, _IDS = 1 << 30, (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Settings:
    """What is configured.

    Attributes:
        login: The server.
        chosen: What is captured.
        capture: How, and what becomes of it.
        earliest: Without a snapshot, from the first change that the server still has.
        replica: The server id; None: made of the connector.
    """

    login: Login
    chosen: Filter
    capture: Capture
    earliest: bool
    replica: int | None

    @classmethod
    def of(cls, config: Config) -> "Settings":
        """As configured."""
        earliest = config["snapshot.mode"] == "earliest"
        return cls(login_of(config), Filter.of(config), Capture.of(config), earliest, config["server.id"])

    def server_id(self, context: TaskContext) -> int:
        """A number that no other replica of the server has."""
        digest = hashlib.sha256(context.connector_uid.encode()).digest()
        return self.replica or _LEAST_ID + int.from_bytes(digest[:4], "big") % _IDS

    def making(self, context: TaskContext, positions: Mapping[str, Offset], *, mariadb: bool) -> Making[Name]:
        """What is the same for all tables."""
        return self.capture.making(context, positions, "mariadb" if mariadb else "mysql", path_of, SOURCE)


def path_of(name: Name) -> Path:
    """Where a table stands: in a database, which has no schemas."""
    return Path(name.database, "", name.table)


def login_of(config: Config) -> Login:
    """The server."""
    return Login(config["hostname"], config["port"], config["username"], config["password"] or "", encryption_of(config))


def encryption_of(config: Config) -> DatabaseTls:
    """By the options TLS, or by `tls`, which is older."""
    found = tls_of(config)
    match config["tls"]:
        case True:
            return replace(found, mode="verify-full" if found.files.ca else "require")
        case False:
            return replace(found, mode="disable")
    return found
