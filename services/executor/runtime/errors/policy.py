"""What becomes of a record that cannot go on: one place decides for all stages (invariant 5)."""

import shlex
from dataclasses import dataclass

from rocketconnect_sdk.options import Config
from services.executor.runtime.errors.failure import ADVICE, Failure


class RecordFailed(Exception):
    """errors.tolerance=none: the task is FAILED at this record, and nothing behind it moves."""


@dataclass(frozen=True, slots=True)
class ErrorPolicy:
    """What the configuration says of bad records.

    Attributes:
        tolerant: errors.tolerance=all: the task goes on.
        dead_letter_topic: Where bad records go then; empty: they are counted and dropped.
        properties: Dead letters carry the reason as properties.
        log: Each bad record is logged.
        log_values: With its first bytes.
        connector: The name of the connector, for what people are told to do.
    """

    tolerant: bool
    dead_letter_topic: str
    properties: bool
    log: bool
    log_values: bool
    connector: str = "NAME"

    @classmethod
    def of(cls, config: Config, connector: str) -> "ErrorPolicy":
        """The policy of the configuration of a connector."""
        return cls(
            config["errors.tolerance"] == "all",
            config["errors.deadletterqueue.topic.name"] or "",
            config["errors.deadletterqueue.context.properties.enable"],
            config["errors.log.enable"],
            config["errors.log.include.messages"],
            connector,
        )

    @classmethod
    def of_nobody(cls) -> "ErrorPolicy":
        """Where records are only looked at: bad ones stop nothing and are kept nowhere, and who looks tells of them."""
        return cls(tolerant=True, dead_letter_topic="", properties=False, log=False, log_values=False)

    def describe(self, failure: Failure, place: str) -> str:
        """A log line about a record that is left out."""
        goes = f"it goes to the topic {self.dead_letter_topic}" if self.dead_letter_topic else "it is dropped"
        shown = f": {failure.original[:200]!r}" if self.log_values else ""
        return f"{place}: {failure.stage.value}: {failure.error}: {failure.message}; {goes}{shown}"

    def check(self, failure: Failure, place: str, skipping: str = "") -> None:
        """Passes when the record may be left out.

        Args:
            failure: Why it cannot go on.
            place: Where it stands, for people.
            skipping: What `position set` is to be told to leave out this record alone, see `beyond`; empty: it can't.

        Raises:
            RecordFailed: it may not; the text says what to do.
        """
        if self.tolerant:
            return
        msg = f"{place}: {failure.stage.value}: {failure.error}: {failure.message}. {failure.advice or ADVICE}"
        if skipping:
            command = f"rocketconnect position set {self.connector} {shlex.quote(skipping)} --restart"
            msg += f". To leave out this record alone: `{command}`"
        raise RecordFailed(msg)
