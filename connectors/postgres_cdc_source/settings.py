"""What is configured, as the task needs it."""

from collections.abc import Mapping
from dataclasses import dataclass

from connectors.databases.tls import tls_of
from connectors.postgres_cdc_source.logical.connection import Address
from connectors.postgres_cdc_source.tables import Filter, Name
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.capture import Capture
from rocketconnect_sdk.database_logs.making import Making, Path
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.schema import Schema, Type, struct

SOURCE = struct([("txId", Schema(Type.INT64, optional=True)), ("lsn", Schema(Type.INT64))])
"""What the field source has besides what all databases have."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is configured.

    Attributes:
        address: The database.
        chosen: What is captured.
        capture: How, and what becomes of it.
        slot: The replication slot.
        publication: The publication.
    """

    address: Address
    chosen: Filter
    capture: Capture
    slot: str
    publication: str

    @classmethod
    def of(cls, config: Config) -> "Settings":
        """As configured."""
        return cls(address_of(config), Filter.of(config), Capture.of(config), config["slot.name"], config["publication.name"])

    def path_of(self, name: Name) -> Path:
        """Where a table stands."""
        return Path(self.address.database, *name)

    def making(self, context: TaskContext, positions: Mapping[str, Offset]) -> Making[Name]:
        """What is the same for all tables."""
        return self.capture.making(context, positions, "postgresql", self.path_of, SOURCE)


def address_of(config: Config) -> Address:
    """The database."""
    options = tls_of(config).libpq()
    return Address(config["hostname"], config["port"], config["username"], config["database"], config["password"] or "", options)
