"""Manifests: what is durable in a target, whose it is, and who may say so next. Pure.

Each manifest is the whole truth at its time: who owns the target, and the position of every queue whose messages are in it. Where
it is kept, and how it is seen that nobody else has written one meanwhile, is a matter of the target: see rocketconnect_sdk.files.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.sink import QueuePosition, SinkCommit


@dataclass(frozen=True, slots=True)
class Owner:
    """One run of one task.

    Attributes:
        connector_uid: The connector.
        generation: Of its plan.
        task: The number of the task.
        epoch: Of its assignment.
        connector: The name of the connector, for people.
    """

    connector_uid: str
    generation: int
    task: int
    epoch: int
    connector: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is durable.

    Attributes:
        number: From 1.
        connector_uid: Whose positions these are.
        generation: The newest plan generation that has claimed the target.
        epochs: By task of that generation: the epoch that has claimed it.
        tokens: By task: of the batch that it wrote last.
        queues: By "topic/broker/queue": the position behind what is in the target.
        state: What the target itself remembers, as JSON has it.
        connector: The name of the connector, for people; empty: it was written by a version that did not say it.
    """

    number: int
    connector_uid: str
    generation: int = 0
    epochs: Mapping[int, int] = field(default_factory=dict)
    tokens: Mapping[int, str] = field(default_factory=dict)
    queues: Mapping[str, QueuePosition] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    connector: str = ""

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return {
            "number": self.number,
            "connector_uid": self.connector_uid,
            "generation": self.generation,
            "epochs": {str(task): epoch for task, epoch in self.epochs.items()},
            "tokens": {str(task): token for task, token in self.tokens.items()},
            "queues": {queue: position.to_json() for queue, position in self.queues.items()},
            "state": dict(self.state),
            "connector": self.connector,
        }


def manifest_from_json(form: Mapping[str, Any]) -> Manifest:
    """From what is stored.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: it is no manifest.
    """
    return Manifest(
        form["number"],
        form["connector_uid"],
        form["generation"],
        {int(task): epoch for task, epoch in form["epochs"].items()},
        {int(task): token for task, token in form["tokens"].items()},
        {queue: QueuePosition.from_json(position) for queue, position in form["queues"].items()},
        form["state"],
        form.get("connector", ""),
    )


class Manifests(ABC):
    """What one task may do with the manifest of a target: each method makes the next one of the newest, or refuses.

    Between reading the newest and writing the next nobody else may write one, or the writing has to fail.

    Args:
        place: Where the manifests are, for people.
        owner: Who writes.
        exclusive: One task at a time has the target as a whole, of whatever connector. Otherwise the tasks of a connector share it,
            each with queues of its own.
    """

    def __init__(self, place: object, owner: Owner, *, exclusive: bool) -> None:
        self._place = place
        self._owner = owner
        self._exclusive = exclusive

    @abstractmethod
    def change(self, work: Callable[[Manifest | None], Manifest]) -> Manifest:
        """Calls the work with the newest manifest (None: there is none), in which it may make the next one by the methods below.

        Where somebody else was quicker it is called again, with theirs: so what it does besides is done as well when it is done
        twice. Returns what the work returns, and raises what it raises.
        """

    @abstractmethod
    def _write(self, manifest: Manifest) -> None:
        """Makes it the newest, durably, or changes nothing."""

    def claim(self, newest: Manifest | None, state: Mapping[str, Any]) -> Manifest:
        """Makes the target this owner's: from now on every other one fails (invariant 3).

        Raises:
            PermanentError: somebody newer has it.
        """
        owner = self._owner
        if newest is None or newest.connector_uid != owner.connector_uid:
            # Another connector's positions mean nothing here.
            last = Manifest(newest.number if newest else 0, owner.connector_uid)
        else:
            last = newest
            if (last.generation, last.epochs.get(owner.task, 0) if last.generation == owner.generation else 0) > (
                owner.generation,
                owner.epoch,
            ):
                self._refuse(newest)
        same = last.generation == owner.generation and not self._exclusive
        claimed = replace(
            last,
            number=last.number + 1,
            generation=owner.generation,
            epochs={**(last.epochs if same else {}), owner.task: owner.epoch},
            tokens=last.tokens,
            state=state,
            connector=owner.connector,
        )
        self._write(claimed)
        return claimed

    def mine(self, newest: Manifest | None) -> Manifest:
        """The newest manifest, if it is still this owner that may write.

        Raises:
            PermanentError: somebody else has claimed the target.
        """
        owner = self._owner
        if (
            newest is None
            or (newest.connector_uid, newest.generation) != (owner.connector_uid, owner.generation)
            or newest.epochs.get(owner.task) != owner.epoch
        ):
            self._refuse(newest)
        return newest

    def _refuse(self, newest: Manifest | None) -> NoReturn:
        if newest is None:
            msg = f"{self._place}: the manifests are gone; they belong to the data beside them. Restart the connector"
            raise PermanentError(msg)
        if newest.connector_uid != self._owner.connector_uid:
            name = f"{newest.connector!r} " if newest.connector else ""
            msg = (
                f"{self._place}: the connector {name}(uid {newest.connector_uid}) writes there now, so this one stops. "
                "Two connectors need two targets: give one of them another, then restart this one"
            )
            raise PermanentError(msg)
        who = f"plan generation {newest.generation}, epochs {dict(newest.epochs)}"
        msg = f"{self._place}: a newer run of this connector writes there now ({who}), so this one stops"
        raise PermanentError(msg)

    def written(self, newest: Manifest, commit: SinkCommit) -> bool:
        """Whether this very batch is there already. Compares and sets: see Raises.

        Raises:
            PermanentError: the batch begins before what is there, so that records would be there twice.
        """
        if newest.tokens.get(self._owner.task) == commit.token:
            return True
        for queue, before in commit.before.items():
            stored = newest.queues.get(queue)
            if stored is not None and before.place < stored.place:
                msg = (
                    f"{self._place}: the batch begins at offset {before.until} of {queue}, and everything up to {stored.until} "
                    "is there already. Restart the connector"
                )
                raise PermanentError(msg)
        return False

    def commit(self, newest: Manifest, commit: SinkCommit, state: Mapping[str, Any]) -> Manifest:
        """Makes a batch durable with its positions (invariant 2)."""
        made = replace(
            newest,
            number=newest.number + 1,
            tokens={**newest.tokens, self._owner.task: commit.token},
            queues={**newest.queues, **commit.after},
            state=state,
        )
        self._write(made)
        return made
