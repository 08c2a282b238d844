"""What is configured, as the task needs it."""

import hashlib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from connectors.mysql_cdc_source.binlog.server import Login
from connectors.mysql_cdc_source.making import Making
from connectors.mysql_cdc_source.tables import Filter
from rocketconnect_sdk.changes import ChangeForm, ColumnMasks, MessageKeys
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import Offset

_LEAST_ID, _IDS = 1 << 30, (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Settings:
    """What is configured.

    Attributes:
        login: The server.
        chosen: What is captured.
        snapshot: The rows that are there are read.
        log: The changes are, too.
        incremental: The rows that are there are read in chunks, while the changes are.
        chunk_rows: How many rows a chunk has.
        chunk_rate: How many rows chunks have in a second; 0: no limit.
        earliest: Without a snapshot, from the first change that the server still has.
        heartbeat: How often the position in the log is stored, in seconds.
        form: Of the records.
        name: What the server is called in records; empty: as the connector.
        keys: Of the records.
        masks: Of columns.
        topic: The topic of the configuration.
        template: Of the topics of tables.
        replica: The server id; None: made of the connector.
    """

    login: Login
    chosen: Filter
    snapshot: bool
    log: bool
    incremental: bool
    chunk_rows: int
    chunk_rate: int
    earliest: bool
    heartbeat: float
    form: ChangeForm
    name: str
    keys: MessageKeys
    masks: ColumnMasks
    topic: str
    template: str
    replica: int | None

    @classmethod
    def of(cls, config: Config) -> "Settings":
        """As configured."""
        mode = config["snapshot.mode"]
        return cls(
            login_of(config),
            Filter.of(config),
            snapshot=mode in {"initial", "only"},
            log=mode != "only",
            incremental=mode == "incremental",
            chunk_rows=config["incremental.snapshot.chunk.size"],
            chunk_rate=config["incremental.snapshot.max.rate.rows"],
            earliest=mode == "earliest",
            heartbeat=config["heartbeat.interval"],
            form=ChangeForm.of(config),
            name=config["server.name"],
            keys=MessageKeys.of(config),
            masks=ColumnMasks.of(config),
            # An option of the runtime, which a test of the connector alone does not have.
            topic=config["topic"] if "topic" in config else "",  # noqa: SIM401 - Config has no default of its own
            template=config["table.topic"],
            replica=config["server.id"],
        )

    def server_id(self, context: TaskContext) -> int:
        """A number that no other replica of the server has."""
        digest = hashlib.sha256(context.connector_uid.encode()).digest()
        return self.replica or _LEAST_ID + int.from_bytes(digest[:4], "big") % _IDS

    def making(self, context: TaskContext, positions: Mapping[str, Offset], *, mariadb: bool) -> Making:
        """What is the same for all tables."""
        return Making(
            self.form,
            "mariadb" if mariadb else "mysql",
            self.name or context.connector,
            self.topic,
            self.template,
            columnar=context.columns,
            positions=dict(positions),
            keys=self.keys,
            masks=self.masks,
        )


def login_of(config: Config) -> Login:
    """The server."""
    tls = None
    if config["tls"]:
        tls = ssl.create_default_context(cafile=config["tls.ca"])
        if config["tls.ca"] is None:
            # As clients of the server do: encrypted, whoever it is.
            tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    return Login(config["hostname"], config["port"], config["username"], config["password"] or "", tls)
