"""A batch becomes objects: they are staged, the manifest counts them with the positions, then they get their names."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from logging import Logger
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from connectors.object_store_sink.forms import Form, refusals, table_of
from connectors.object_store_sink.layout import Layout, Staged
from connectors.object_store_sink.store import Store, plain
from connectors.objects.files import FilesLogin
from connectors.objects.location import FOLDER, Location
from connectors.objects.logins import Login
from rocketconnect_sdk.errors import RecordError, RecordRefused
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, Receipt, RecordSinkTask, SinkCommit, SinkWriter
from rocketconnect_sdk.targets.manifests import Manifest, Owner

_NAMES = "names"
"""In the state of the manifest: by task what is staged and counts, and the names that it gets."""
_Pairs = Sequence[Sequence[str]]
_Rows = TypeVar("_Rows", pa.Array, pa.Table)
Named = Callable[[Sequence[str]], None]
"""Is told the names that objects have got, behind the prefix; more than once, where that may have been for nothing."""


def nobody(names: Sequence[str]) -> None:
    """A Named that does nothing."""
    del names


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """What is written, and where. Picklable.

    Attributes:
        place: Where.
        login: Of its server; None: it is a folder.
        form: How.
        layout: Into which folders.
    """

    place: Location
    login: Login | FilesLogin | None
    form: Form
    layout: Layout

    def store(self, owner: Owner) -> Store:
        """The store, for an owner. Asks nobody."""
        if self.place.kind == FOLDER or self.login is None:
            from connectors.object_store_sink.folder import FolderStore

            return FolderStore(Path(self.place.prefix), owner)
        if isinstance(self.login, FilesLogin):
            from connectors.object_store_sink.files import FilesStore

            return FilesStore(self.place, self.login.files(self.place), owner)
        from connectors.object_store_sink.bucket import BucketStore

        return BucketStore(self.place, self.login, owner)


class ObjectTask(RecordSinkTask):
    """Adds objects to a prefix, exactly once. Several tasks of one connector may.

    Args:
        target: See SinkSettings.
        owner: Who writes.
        flush: When batches are closed.
        log: For people.
        named: Is told of names before anything is that counts on it; what it raises is as if a name could not be given.
    """

    def __init__(self, target: SinkSettings, owner: Owner, flush: FlushPolicy, log: Logger, named: Named = nobody) -> None:
        self._target = target
        self._owner = owner
        self._flush = flush
        self._log = log
        self._told = named
        self._store = target.store(owner)
        self._unnamed: list[Sequence[str]] = []
        """What the manifest counts and has no name yet."""
        self._offered: set[str] = set()
        """What the manifest may count, whatever is known of it: an answer may not have come."""

    @property
    def flush(self) -> FlushPolicy:
        """See SinkTask."""
        return self._flush

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask. What the manifest counts and has no name yet gets it now."""
        self._store.prepare()
        self._unnamed, self._offered = [], set()
        claimed = self._store.manifests.change(self._claim)
        self._store.discard([name for name in self._store.staged() if self._is_left(name)])
        return claimed.queues

    def _claim(self, newest: Manifest | None) -> Manifest:
        others: Mapping[str, _Pairs] = {}
        if newest is not None:
            names = names_of(newest)
            if (newest.connector_uid, newest.generation) == (self._owner.connector_uid, self._owner.generation):
                # The other tasks of this plan give names themselves.
                others = {task: pairs for task, pairs in names.items() if task != str(self._owner.task)}
            self._publish([pair for task, pairs in names.items() if task not in others for pair in pairs])
        return self._store.manifests.claim(newest, {_NAMES: others})

    def _is_left(self, name: str) -> bool:
        """Whether it was staged by an owner of this task before this one, of a plan before this one, or by another connector."""
        whose, *numbers = name.split("-")[:4]
        generation, task, epoch, *_ = (int(each) if each.isdecimal() else -1 for each in (*numbers, "", "", ""))
        mine = self._owner
        return (
            whose != _whose(mine)
            or generation < mine.generation
            or ((generation, task) == (mine.generation, mine.task) and epoch <= mine.epoch)
        )

    def writer(self) -> SinkWriter:
        """See RecordSinkTask."""
        return ObjectWriter(self._target, self._owner)

    def commit(self, receipts: Sequence[Receipt], commit: SinkCommit) -> None:
        """See RecordSinkTask."""
        self._publish_rest()
        pairs = [(staged.staged, self._name(staged, commit)) for receipt in receipts for staged in receipt]
        self._offered.update(staged for staged, _ in pairs)
        made = self._store.manifests.change(partial(self._count, commit, pairs))
        counted = names_of(made).get(str(self._owner.task), ())
        self._unnamed = list(counted)
        self._publish_rest()
        # Of a batch that was there already, and was staged once more.
        twice = {staged for staged, _ in pairs} - {staged for staged, _ in counted}
        self._store.discard(sorted(twice))
        self._offered = set()

    def _name(self, staged: Staged, commit: SinkCommit) -> str:
        before, after = commit.before[staged.queue], commit.after[staged.queue]
        return staged.name(self._owner.connector_uid, before, after.until)

    def _count(self, commit: SinkCommit, pairs: _Pairs, newest: Manifest | None) -> Manifest:
        manifests = self._store.manifests
        mine = manifests.mine(newest)
        if manifests.written(mine, commit):
            return mine
        # Invariant 2: from here on the batch counts; what has no name at a crash gets it at the next start.
        return manifests.commit(mine, commit, {_NAMES: {**names_of(mine), str(self._owner.task): pairs}})

    def _publish_rest(self) -> None:
        if self._unnamed:
            self._publish(self._unnamed)
            self._unnamed = []

    def _publish(self, pairs: _Pairs) -> None:
        for staged, name in pairs:
            if not self._store.publish(staged, name):
                self._log.warning("%s: %s was written, and somebody has taken it away since", self._target.place, name)
        if pairs:
            self._told([name for _, name in pairs])

    def abort(self, receipts: Sequence[Receipt]) -> None:
        """See RecordSinkTask. What a manifest may count by now, or when a late request arrives, is left to the next start."""
        given_up = {staged.staged for receipt in receipts for staged in receipt}
        self._store.discard(sorted(given_up - self._offered))

    def close(self) -> None:
        """See SinkTask."""
        self._store.close()


class ObjectWriter(SinkWriter):
    """Stages objects.

    Args:
        target: See SinkSettings.
        owner: Who writes.
    """

    def __init__(self, target: SinkSettings, owner: Owner) -> None:
        self._target = target
        self._owner = owner
        self._store: Store | None = None

    def __getstate__(self) -> dict[str, Any]:
        """A connection does not travel."""
        return {"_target": self._target, "_owner": self._owner, "_store": None}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """See __getstate__."""
        self.__dict__.update(state)

    def stage(self, batch: SinkBatch, part: str) -> Receipt:
        """See SinkWriter. One object for each folder that the records go to."""
        refused: dict[int, str] = {}
        try:
            made = self.objects(batch)
        except RecordError:
            refused = refusals(batch, self.objects)
            good = [index for index in range(len(batch)) if index not in refused]
            made = self.objects(batch.take(good)) if good else []
        receipt = self._put(batch.queue, made, part)
        if refused:
            raise RecordRefused(refused, receipt)
        return receipt

    def objects(self, batch: SinkBatch) -> list[tuple[str, int, memoryview]]:
        """By folder the offset of its first record, and its object.

        Raises:
            RecordError: there are values that cannot be written.
        """
        form, layout = self._target.form, self._target.layout
        values = form.array(batch.values, batch.schema)
        return dealt(values, layout.folders(batch.topic, table_of(values), batch.timestamps_ms), batch.offsets, form.data)

    def _put(self, queue: str, made: Iterable[tuple[str, int, memoryview]], part: str) -> list[Staged]:
        self._store = self._store or self._target.store(self._owner)
        who = f"{_whose(self._owner)}-{self._owner.generation}-{self._owner.task}-{self._owner.epoch}"
        staged = []
        for number, (folder, first, data) in enumerate(made):
            name = f"{who}-{plain(part)}-{number}"
            self._store.stage(name, data)
            staged.append(Staged(name, folder, queue, first, self._target.form.ending))
        return staged


def dealt(
    rows: _Rows, folders: pa.Array, offsets: Sequence[int], data: Callable[[_Rows], memoryview]
) -> list[tuple[str, int, memoryview]]:
    """By folder the offset of its first row, and its object.

    Args:
        rows: The rows.
        folders: Of each.
        offsets: Of each.
        data: Makes an object of rows.
    """
    found = folders.dictionary_encode()
    if len(found.dictionary) == 1:
        return [(found.dictionary[0].as_py(), offsets[0], data(rows))]
    made = []
    for number, folder in enumerate(found.dictionary.to_pylist()):
        mine = pc.indices_nonzero(pc.equal(found.indices, number))
        made.append((folder, offsets[mine[0].as_py()], data(rows.take(mine))))
    return made


def _whose(owner: Owner) -> str:
    return hashlib.sha256(owner.connector_uid.encode()).hexdigest()[:8]


def names_of(manifest: Manifest) -> Mapping[str, _Pairs]:
    """By task what is staged and counts, and the names that it gets."""
    found: Mapping[str, _Pairs] = manifest.state.get(_NAMES, {})
    return found


def end(target: SinkSettings, connector_uid: str, named: Named = nobody) -> None:
    """Of a connector that is deleted: what counts gets its name, which `named` is told, and what is staged besides is removed."""
    store = target.store(Owner(connector_uid, 0, 0, 0))

    def publish(newest: Manifest | None) -> Manifest:
        if newest is None or newest.connector_uid != connector_uid:
            return Manifest(0, "")
        pairs = [pair for pairs in names_of(newest).values() for pair in pairs]
        for staged, name in pairs:
            store.publish(staged, name)
        if pairs:
            named([name for _, name in pairs])
        return newest

    if store.is_used and store.manifests.change(publish).connector_uid == connector_uid:
        store.discard(list(store.staged()))
