"""Who owns the tasks of a connector, and where they are, in notes that a target keeps beside its data. Pure.

A note is a text under a name. All that is asked of a target is that it compares some notes and sets some in the transaction of the
data. One note is the connector's, and has the newest plan; each task has one, with the epoch of its owner and positions. Each write
compares both, so whoever was replaced finds another text there, whatever it is late with.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.sink import QueuePosition
from rocketconnect_sdk.targets.claims import merged
from rocketconnect_sdk.targets.owners import Owner

PLAN = "plan"
_OF_TASK = "task-"
_REPLACED = "a newer owner writes there now, so this one stops"


@dataclass(frozen=True, slots=True)
class Held:
    """What the notes of a connector say.

    Attributes:
        texts: The notes that were read, by name; those that are not there are left out.
        positions: By queue how far the data are.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    positions: Mapping[str, QueuePosition] = field(default_factory=dict)


def note_of(task: int) -> str:
    """The name of the note of a task."""
    return f"{_OF_TASK}{task}"


def task_of(name: str) -> int:
    """The task that a note is of."""
    return int(name.removeprefix(_OF_TASK))


def generation_of(text: str) -> int:
    """The generation of whoever wrote a note."""
    return int(json.loads(text)["generation"])


def plan_of(texts: Mapping[str, str]) -> str | None:
    """The note PLAN as the notes of all tasks say it, of a target that keeps theirs alone; None: there is none of these."""
    tasks = [name for name in texts if name != PLAN]
    if not tasks:
        return None
    return _plan(max(generation_of(texts[name]) for name in tasks), max(map(task_of, tasks)) + 1)


def names_of(plan: str | None, owner: Owner) -> Sequence[str]:
    """The notes that an owner looks at when it begins, by what the connector's says."""
    tasks = max(owner.task + 1, 0 if plan is None else int(json.loads(plan)["tasks"]))
    return [PLAN, *map(note_of, range(tasks))]


def read_notes(texts: Mapping[str, str], owner: Owner) -> Held:
    """What they say.

    Raises:
        PermanentError: somebody has replaced this owner.
    """
    plan = json.loads(texts[PLAN]) if PLAN in texts else {"generation": 0}
    mine = json.loads(texts[note_of(owner.task)]) if note_of(owner.task) in texts else {"generation": 0, "epoch": 0}
    if plan["generation"] > owner.generation or (mine["generation"], mine["epoch"]) > (owner.generation, owner.epoch):
        raise PermanentError(_REPLACED)
    found = [json.loads(text)["positions"] for name, text in texts.items() if name != PLAN]
    positions = merged({queue: QueuePosition.from_json(form) for queue, form in each.items()} for each in found)
    return Held(texts, positions)


def is_claimed(texts: Mapping[str, str], owner: Owner) -> bool:
    """Whether an owner has its task, by notes that do not say that somebody has replaced it."""
    mine = json.loads(texts[note_of(owner.task)]) if note_of(owner.task) in texts else {}
    return (mine.get("generation"), mine.get("epoch")) == (owner.generation, owner.epoch)


def claim(names: Sequence[str], held: Held, owner: Owner) -> dict[str, str]:
    """The notes by which an owner claims its task: of a plan that is newer it closes all tasks of older ones."""
    return {PLAN: _plan(owner.generation, len(names) - 1), **written(held.positions, owner)}


def written(positions: Mapping[str, QueuePosition], owner: Owner) -> dict[str, str]:
    """The note of an owner who has written up to these positions."""
    form = {queue: position.to_json() for queue, position in sorted(positions.items())}
    return {note_of(owner.task): json.dumps({"generation": owner.generation, "epoch": owner.epoch, "positions": form})}


def _plan(generation: int, tasks: int) -> str:
    return json.dumps({"generation": generation, "tasks": tasks})
