"""What is configured, as the task needs it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connectors.mongodb.reading.names import Filter
from rocketconnect_sdk.changes.form import ChangeForm
from rocketconnect_sdk.options import Config

DEFAULT, LOOKUP, AVAILABLE, REQUIRED = "default", "updateLookup", "whenAvailable", "required"
EXTENDED, RELAXED, STRUCT = "extended", "relaxed", "struct"


@dataclass(frozen=True, slots=True)
class Settings:
    """What is configured.

    Attributes:
        config: All of it, for the client.
        place: The server, for people.
        chosen: What is captured.
        oplog: The changes are read from the oplog, and not by a change stream.
        mode: What is read first: see the option snapshot.mode.
        chunk: How many documents are asked for at once.
        full: Which document updates have: see the option change.stream.full.document.
        before: Which one there was before: see change.stream.full.document.before.change.
        pipeline: The stages behind $changeStream.
        form: Of records.
        document: Of documents in them.
        heartbeat: How often the place in the log is stored where nothing is captured, in seconds.
        server: What the server is called in records; empty: as the connector.
        topic: The topic of the configuration.
        template: Of the topics of collections.
        skip: What is lost is passed.
    """

    config: Config
    place: str
    chosen: Filter
    oplog: bool
    mode: str
    chunk: int
    full: str
    before: str
    pipeline: Sequence[Mapping[str, Any]]
    form: ChangeForm
    document: str
    heartbeat: float
    server: str
    topic: str
    template: str
    skip: bool

    @classmethod
    def of(cls, config: Config) -> "Settings":
        """As configured."""
        return cls(
            config,
            config["url"],
            Filter.of(config),
            config["capture.mode"] == "oplog",
            config["snapshot.mode"],
            config["snapshot.chunk.size"],
            config["change.stream.full.document"],
            config["change.stream.full.document.before.change"],
            json.loads(config["pipeline"] or "[]"),
            ChangeForm.of(config),
            config["document.form"],
            config["heartbeat.interval"],
            config["server.name"],
            # Options of the runtime, which a test of the connector alone does not have.
            config["topic"] if "topic" in config else "",  # noqa: SIM401 - Config has no default of its own
            config["collection.topic"],
            "on.gap" in config and config["on.gap"] == "skip",
        )

    @property
    def reads(self) -> bool:
        """Whether documents that are there are read at the beginning."""
        return self.mode in {"initial", "only", "when_needed"}
