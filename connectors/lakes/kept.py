"""What the commits of a table keep of the tasks of a connector, as texts by name: who owns each share, how far it came. Pure."""

import json
from collections.abc import Mapping

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.sink import QueuePosition
from rocketconnect_sdk.targets.claims import Claims, Version, closing, is_mine, merged, next_version, unpacked

_PREFIX = "rocketconnect."
_PLAN = "plan"


class Kept:
    """Reads and writes these texts for one task.

    Args:
        context: Of the task.
    """

    def __init__(self, context: TaskContext) -> None:
        self._task = context.task
        self._owner = context.generation, context.epoch
        self._prefix = f"{_PREFIX}{context.connector_uid}."

    @property
    def name(self) -> str:
        """Of the text of the task."""
        return f"{self._prefix}{self._task}"

    def version(self, texts: Mapping[str, str]) -> Version | None:
        """The version that the texts have of the task; None: they have none."""
        return self._claims(texts).tasks.get(self._task)

    def positions(self, texts: Mapping[str, str]) -> Mapping[str, QueuePosition]:
        """Those that this owner goes on from: its own, or, before its first commit, what all tasks have.

        Raises:
            PermanentError: a newer owner writes there.
        """
        claims, task = self._claims(texts), self._task
        # The first task of a plan has taken over what the others are to go on from.
        return merged(self._read(texts, each) for each in ([task] if is_mine(self._owner, task, claims) else claims.open))

    def next(self, texts: Mapping[str, str], positions: Mapping[str, QueuePosition]) -> tuple[Version, dict[str, str]]:
        """The version of the next commit of this owner, and the texts that it changes."""
        claims = self._claims(texts)
        version = next_version(self._owner[1], claims.tasks.values())
        taken = {**closing(self._owner, self._task, claims), self._task: version}
        changed = {f"{self._prefix}{each}": _form(number.packed, {}) for each, number in taken.items()}
        changed[self.name] = _form(version.packed, positions)
        return version, {f"{self._prefix}{_PLAN}": str(self._owner[0]), **changed}

    def _read(self, texts: Mapping[str, str], task: int) -> Mapping[str, QueuePosition]:
        form = json.loads(texts[f"{self._prefix}{task}"])
        return {queue: QueuePosition.from_json(position) for queue, position in form["positions"].items()}

    def _claims(self, texts: Mapping[str, str]) -> Claims:
        found = {key.removeprefix(self._prefix): value for key, value in texts.items() if key.startswith(self._prefix)}
        plan = int(found.pop(_PLAN, 0))
        return Claims(plan, {int(task): unpacked(json.loads(form)["version"]) for task, form in found.items() if task.isdecimal()})


def _form(version: int, positions: Mapping[str, QueuePosition]) -> str:
    return json.dumps({"version": version, "positions": {queue: each.to_json() for queue, each in sorted(positions.items())}})
