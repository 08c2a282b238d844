"""What a sink of tables writes: the settings that all of them have. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rocketconnect_sdk.columns.declared import given_columns
from rocketconnect_sdk.configuration.change_options import RECORD_KEY
from rocketconnect_sdk.evolution import POLICY, Policy
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Schema

UPSERT = "upsert"
_TOPIC = "${topic}"


@dataclass(frozen=True, slots=True)
class TableSettings:
    """What is written. Picklable.

    Attributes:
        table: The table; ${topic} stands for the topic.
        create: A table that is not there is made.
        policy: When records have other columns than the table.
        columns: What JSON objects are made rows of; None: the columns of the table.
        upsert: A row replaces the one of its key; else each record is a new row.
        key: The columns of the key; empty: those of the table.
        by_key: They are in the key of the record; else in its value.
        delete: Deletions are made.
    """

    table: str
    create: bool
    policy: Policy
    columns: Schema | None
    upsert: bool = False
    key: Sequence[str] = ()
    by_key: bool = False
    delete: bool = False

    def name(self, topic: str) -> str:
        """The table of a topic."""
        return self.table.replace(_TOPIC, topic)

    def names(self, topics: str) -> list[str]:
        """The tables that are known before there are records, by the option `topics`."""
        if _TOPIC not in self.table:
            return [self.table]
        return [self.name(topic.strip()) for topic in topics.split(",") if topic.strip()]


def settings_of(config: Config) -> TableSettings:
    """What a configuration says; without the option `insert.mode` each record is a new row."""
    found = TableSettings(config["table"], config["table.create"], Policy(config[POLICY.key]), given_columns(config["columns"]))
    if "insert.mode" not in config:
        return found
    upsert, by_key = config["insert.mode"] == UPSERT, config["pk.mode"] == RECORD_KEY
    return replace(found, upsert=upsert, key=tuple(config["pk.fields"]), by_key=by_key, delete=config["delete.enabled"])
