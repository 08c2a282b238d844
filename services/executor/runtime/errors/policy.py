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
        shown = f": {failure.original[:200]!r}" if self.log_values else ""
        return f"{self.tell(failure, place)}{shown}"

    def tell(self, failure: Failure, place: str) -> str:
        """Where a record stands that is left out, what is wrong with it, and where it goes."""
        goes = f"it goes to the topic {self.dead_letter_topic}" if self.dead_letter_topic else "it is dropped"
        return f"{place}: {failure.stage.value}: {failure.error}: {failure.message}; {goes}"

    def check_source(self, failure: Failure, place: str, skipping: str = "") -> None:
        """Passes when a record of a source may be left out. See check; the text says all ways on at once.

        Raises:
            RecordFailed: it may not.
        """
        if self.tolerant:
            return
        kept = self.dead_letter_topic or f"{self.connector}-dlq"
        settings = "--set errors.tolerance=all"
        if not self.dead_letter_topic:
            settings += f" --set errors.deadletterqueue.topic.name={kept}"
        correcting = "To correct it, correct the record where it is read, or the configuration; then restart the connector."
        leaving = (
            f"To leave out all bad records: `rocketconnect connector update {self.connector} {settings}`; the task then goes on, "
            f"and each of them is kept in {kept} with its reason: `rocketconnect dlq list {self.connector}`."
        )
        ways = [failure.advice or correcting, leaving]
        if skipping:
            ways.append(self.leaving_out(skipping))
        said = " ".join(f"({number}) {way}" for number, way in enumerate(ways, start=1))
        msg = f"{place}: {failure.stage.value}: {failure.error}: {failure.message}. Ways on: {said}"
        raise RecordFailed(msg)

    def check(self, failure: Failure, place: str, skipping: str = "") -> None:
        """Passes when the record may be left out.

        Args:
            failure: Why it cannot go on.
            place: Where it stands, for people.
            skipping: What `position set` is to be told to leave out this message alone, see `beyond`; empty: it can't.

        Raises:
            RecordFailed: it may not; the text says what to do.
        """
        if self.tolerant:
            return
        msg = f"{place}: {failure.stage.value}: {failure.error}: {failure.message}. {ADVICE}"
        if skipping:
            msg += f". {self.leaving_out(skipping, 'message')}"
        raise RecordFailed(msg)

    def leaving_out(self, skipping: str, what: str = "record") -> str:
        """The command that leaves out one record, or one message; `skipping`: what it is told, see `beyond`."""
        return f"To leave out this {what} alone: `rocketconnect position set {self.connector} {shlex.quote(skipping)} --restart`"
