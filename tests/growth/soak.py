"""A long life in a short time: objects that come and go, epochs, connectors that are created and deleted."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from connectors.object_store_source.listing import Found, Objects
from connectors.object_store_source.task import ObjectSourceTask
from rocketconnect_kit.store import database
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.files.gone import GoneObjects
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import SourceBatch
from services.config.domain import CleanupOutcome, ConnectorType, Draft, WantedState
from services.config.forgetting.rows import ForgettingStore
from services.config.forgetting.sweeping import Forgetting
from services.config.signature import Signature
from services.config.store import ConfigStore
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.source.pieces import Progress, ReadBatch
from services.position.domain import Fence, Update
from services.position.snapshots import KEPT
from services.position.store import PositionStore
from tests.growth.curve import Curve

LIVING_OBJECTS = 5_000
"""So many objects are there at a time."""
KEPT_DAYS = 30
_DAY = 24 * 3600 * 1_000_000
_AT_ONCE = 5_000
"""Of a commit, as of the runtime."""
_TASKS = 4
_EPOCHS_OF_A_PLAN = 50


class Clock:
    """Microseconds since 1970, one more with each look."""

    def __init__(self) -> None:
        self.microseconds = 1_800_000_000_000_000

    def __call__(self) -> int:
        self.microseconds += 1
        return self.microseconds


def opened(folder: Path, service: str) -> sa.Engine:
    """The store of a service, new."""
    engine = database.engine(f"sqlite:///{folder}/{service}.db")
    database.migrate(engine, service)
    return engine


class PassingObjects(Objects):
    """Objects in memory, of which those that came first are removed when others come."""

    def __init__(self) -> None:
        self.last = 0

    def all(self) -> Iterator[Found]:
        """See Objects."""
        for number in range(max(0, self.last - LIVING_OBJECTS), self.last):
            yield Found(f"2026/part-{number:09d}.json", f"{number:032x}", 100)

    def read(self, found: Found, start: int, length: int) -> bytes:
        """See Objects. Nobody asks for it: see Whole."""
        raise NotImplementedError


@dataclass(slots=True)
class Whole:
    """The reader of an object that is one batch of one record."""

    found: Found

    def next(self) -> SourceBatch:
        """See Reader."""
        return SourceBatch(self.found.partition, [b"{}"], [(100, 0)], end=(100, 1))


def soak_objects(folder: Path, count: int) -> Curve:
    """Objects come, are read, and are removed: the task, what the runtime keeps of it, and the store of the positions."""
    engine = opened(folder, "position")
    store = PositionStore(engine, Clock(), Clock())
    objects = PassingObjects()
    task = ObjectSourceTask(
        objects,
        lambda _: True,
        (0, 1),
        lambda found, _: Whole(found),  # type: ignore[arg-type,return-value]  # it has what the task asks for
        0.0,
        TaskContext(log=logging.getLogger("growth")),
        GoneObjects(1e-9),
    )
    owner = Fence("c", 0, 1, 1)
    store.open_task(owner).result(60)
    task.start({})
    progress, known = Progress({}, 0), dict[str, str]()
    curve = Curve("objects", (engine,))
    for numbers in curve.steps(count):
        for last in range(numbers.start, numbers.stop, LIVING_OBJECTS):
            objects.last = min(last + LIVING_OBJECTS, numbers.stop)
            _read_all(task, progress, store, owner, known)
        # What has only now been missed is forgotten with the next look.
        _read_all(task, progress, store, owner, known)
    assert objects.last == count
    store.close()
    engine.dispose()
    return curve


def _read_all(task: ObjectSourceTask, progress: Progress, store: PositionStore, owner: Fence, known: dict[str, str]) -> None:
    """Until a look finds nothing new, and nothing is left to forget; every batch is confirmed at once."""
    while True:
        given = batches_of(task.poll())
        for batch in given:
            progress.read(ReadBatch(batch.partition, batch.partition, batch.end, 0.0, gone=batch.gone))
        if len(progress._moved) >= _AT_ONCE or not given:
            _commit(progress.take_moved(), store, owner, known)
        if not given:
            return


def _commit(moved: dict[str, Stored], store: PositionStore, owner: Fence, known: dict[str, str]) -> None:
    """Mirrors `PositionClient.commit` and `settled`."""
    updates = []
    for partition, stored in moved.items():
        offset = f"[{','.join(map(str, stored.offset))}]"
        updates.append(Update(partition, offset, stored.incarnation, stored.text, known.get(partition, "none"), stored.gone))
        if stored.gone:
            known.pop(partition, None)
        else:
            known[partition] = offset
    store.commit(owner, updates, clean=False).result(600)


def soak_epochs(folder: Path, count: int) -> Curve:
    """Tasks change their owners, and plans and revisions their numbers: what the store of the positions keeps of them."""
    engine = opened(folder, "position")
    store = PositionStore(engine, Clock(), Clock())
    curve = Curve("epochs", (engine,), bounds={"position_snapshots": KEPT})
    for numbers in curve.steps(count):
        for epoch in numbers:
            plan = 1 + epoch // _EPOCHS_OF_A_PLAN
            fence = Fence("c", epoch % _TASKS, plan, 1 + epoch)
            store.confirm("c", [fence], 1).result(60)
            store.open_task(fence, plan, keep_resume=True).result(60)
            own = Update(f"~task/{fence.task}", f"[{fence.epoch},1]", 0, '{"floors": {"t/b/0": 1}}', "")
            store.commit(fence, [own, Update(f"p{fence.task}", f"[{epoch}]", 0, '{"at": 1}', "")], clean=True).result(60)
    store.close()
    engine.dispose()
    return curve


@dataclass(slots=True)
class Forgets:
    """The position service as the config service calls it."""

    store: PositionStore
    told: list[str] = field(default_factory=list)

    async def forget(self, uids: Sequence[str]) -> bool:
        """See `forgetting.sweeping.Positions`."""
        for uid in uids:
            await asyncio.wrap_future(self.store.forget(uid))
        return True


def soak_connectors(folder: Path, count: int) -> Curve:
    """Connectors are created, run, changed and deleted, one a day: what the stores of configurations and positions keep of them."""
    configs, positions = opened(folder, "config"), opened(folder, "position")
    clock = Clock()
    config, position = ConfigStore(configs, clock), PositionStore(positions, clock, clock)
    forgetting = Forgetting(ForgettingStore(configs), Forgets(position), KEPT_DAYS, clock)
    curve = Curve("connectors", (configs, positions), kept=("position_connectors",))
    options = {"connector.class": "file_source", "topics": "t", "filename": "/data/in.txt"}
    for numbers in curve.steps(count):
        for number in numbers:
            name = f"c{number}"
            uid = config.create(Draft(name, options, WantedState.RUNNING, f"r{number}", ""), ConnectorType.SOURCE).uid
            config.update(name, options | {"max.tasks": "2"}, "", ConnectorType.SOURCE)
            for plan in (1, 2):
                for task in range(plan):
                    fence = Fence(uid, task, plan, 10 * plan + task)
                    position.open_task(fence, plan).result(60)
                    updates = [Update(f"p{each}-{task}", "[1]", 0, "", "") for each in range(5)]
                    position.commit(fence, updates, clean=True).result(60)
            config.delete(name, "")
            taken = config.take_cleanup(["file_source"], 60)
            assert taken is not None
            config.report_cleanup(uid, taken.delete_time, CleanupOutcome.NOTHING, Signature("w"))
            clock.microseconds += _DAY
            asyncio.run(forgetting.look())
    position.close()
    for engine in (configs, positions):
        engine.dispose()
    return curve
