"""What the author of a WriteSink writes: a connection to the target."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.writes.operations import Operation


class Connection(ABC):
    """A connection to a target. One thread calls it. After a SystemAway it is closed, and another one is made.

    All methods raise SystemAway or RetriableError where they may succeed later, and PermanentError where they can't.
    """

    @abstractmethod
    def ping(self) -> None:
        """Returns when the target answers and takes who we are."""

    def prepare(self, schemas: Mapping[str, Schema]) -> None:
        """Called before the writes of a batch with the schemas of rows by their target, where Addressing.schemas wants them."""
        del schemas

    def fits(self, operations: Sequence[Operation]) -> int:
        """How many of these, at least one, go into the next write, which is called with those."""
        return len(operations)

    @abstractmethod
    def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
        """Makes changes, those of one target and key in their order. They are durable, as far as the target can, when it returns.

        Returns: by index of the operation what is wrong with those that the target refuses; all others are made.

        Raises:
            SystemAway, RetriableError: some may be made; it is called again with all of them.
        """

    @abstractmethod
    def close(self) -> None:
        """Ends it. Never raises."""


class TransactionalConnection(Connection):
    """A connection to a target that can keep notes with its data: such a sink is EXACTLY_ONCE. See writes.notes."""

    @abstractmethod
    def notes(self, names: Sequence[str]) -> Mapping[str, str]:
        """The notes of this connector with these names that are there."""

    @abstractmethod
    def transact(self, operations: Sequence[Operation], expected: Mapping[str, str | None], notes: Mapping[str, str]) -> bool:
        """Makes changes and sets notes in one transaction, if these notes are as expected.

        Args:
            operations: As of write; they may be none.
            expected: By name the text of a note; None: it is not there.
            notes: By name the text that a note has from then on.

        Returns: whether it was done; False: a note is not as expected, and nothing was done.

        Raises:
            RecordRefused: the target refuses operations, by their indexes; nothing was done.
            SystemAway, RetriableError: it is not known whether it was done.
        """
