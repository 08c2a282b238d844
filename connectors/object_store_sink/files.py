"""A folder of a server as a store: staged files are renamed, and the newest manifest is the one that a file is named after."""

import json
from collections.abc import Iterable
from contextlib import suppress
from uuid import uuid4

from connectors.object_store_sink.compared import ComparedManifests, Quicker
from connectors.object_store_sink.store import HIDDEN, STAGED, Store
from connectors.objects.files import NotThere, StagedFiles, StoreRejected, Taken, asking
from connectors.objects.location import Location
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.targets.manifests import Manifest, Owner, manifest_from_json
from rocketconnect_sdk.wording.counts import counted

_MANIFESTS = f"{HIDDEN}/manifests"
"""Of each manifest that counts, or may count soon, a file."""
_NEWEST = f"{HIDDEN}/newest"
"""A folder with one empty file, which has the name of the newest manifest."""
_BEGUN = "begun-"
"""Folders that each want to become that."""
_PROBE = f"{HIDDEN}/probe"
_LOOKS = 5


class FilesStore(Store):
    """Files below a folder of a server.

    Args:
        place: The folder; made when something is written.
        files: What is below it.
        owner: Who writes.
    """

    def __init__(self, place: Location, files: StagedFiles, owner: Owner) -> None:
        self._place = place
        self._files = files
        self._manifests = _FileManifests(place, files, owner)
        self.manifests = self._manifests

    @property
    def is_used(self) -> bool:
        """See Store."""
        return True

    def prepare(self) -> None:
        """See Store. Invariant 3 stands on renames that find what they rename, and replace nothing."""
        with asking(self._place):
            with suppress(NotThere):
                self._files.rename(f"{_PROBE}-{uuid4().hex}", _PROBE)
            self._manifests.tidy()

    def stage(self, name: str, data: memoryview) -> None:
        """See Store. A request that comes late, or an end in the middle, leaves a file that nobody looks for by its name."""
        path = f"{STAGED}/{name}"
        written = f"{path}.{uuid4().hex}"
        with asking(self._place):
            self._files.create(written, data)
            self._files.rename(written, path, over=True)

    def publish(self, staged: str, name: str) -> bool:
        """See Store."""
        source = f"{STAGED}/{staged}"
        with asking(self._place):
            try:
                try:
                    self._files.rename(source, name)
                except NotThere:
                    if not self._files.is_there(source):
                        return self._files.is_there(name)
                    self._files.make_folder(name.rpartition("/")[0])
                    self._files.rename(source, name)
            except Taken:
                self._files.remove(source)
        return True

    def staged(self) -> Iterable[str]:
        """See Store."""
        with asking(self._place):
            try:
                return [each.name for each in self._files.listed(STAGED)]
            except NotThere:
                return []

    def discard(self, staged: Iterable[str]) -> None:
        """See Store."""
        with asking(self._place):
            for name in staged:
                self._files.remove(f"{STAGED}/{name}")

    def close(self) -> None:
        """See Store."""
        self._files.close()


class _FileManifests(ComparedManifests[str]):
    """What is known of the newest manifest is its name, which no other one ever has.

    A new one is written, and then the file in _NEWEST gets its name from that of the manifest that was read: a rename of which the
    server does one, whoever else tries, and none once the newest is another one. The folder comes with its first file, and stays.
    """

    def __init__(self, place: Location, files: StagedFiles, owner: Owner) -> None:
        super().__init__(place, owner, asking)
        self._files = files

    def tidy(self) -> None:
        """Removes what is left of manifests that cannot become the newest any more. Raises StoreRejected."""
        newest = self._name()
        if newest is None:
            return
        # What is to follow the newest, or one that comes after it, has a greater number.
        for each in list(self._files.listed(_MANIFESTS)):
            if each.name.partition("-")[0] < newest.partition("-")[0]:
                self._files.remove(f"{_MANIFESTS}/{each.name}")
        for each in list(self._files.listed(HIDDEN)):
            if each.name.startswith(_BEGUN):
                self._files.remove(f"{HIDDEN}/{each.name}")

    def _name(self) -> str | None:
        """Of the newest manifest."""
        # Of a folder that is listed while its file is renamed some file systems show no name, or both.
        for _ in range(_LOOKS):
            try:
                found = [each.name for each in self._files.listed(_NEWEST)]
            except NotThere:
                return None
            if len(found) == 1:
                break
        else:
            msg = (
                f"{self._place}: {_NEWEST} has {counted(found, 'file')}, and one belongs there. Name another folder, or restore it"
            )
            raise PermanentError(msg)
        return found[0]

    def _read(self) -> tuple[Manifest, str] | None:
        name = self._name()
        if name is None:
            return None
        path = f"{_MANIFESTS}/{name}.json"
        try:
            size = self._files.status(path).size
            return manifest_from_json(json.loads(self._files.read(path, 0, size))), name
        except NotThere as error:
            if self._name() != name:
                raise Quicker from None
            msg = f"{self._place}: {path} is gone. Name another folder, or restore it"
            raise PermanentError(msg) from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            msg = f"{self._place}: {path} is no manifest of this sink. Name another folder, or restore the file"
            raise PermanentError(msg) from error

    def _replace(self, manifest: Manifest, known: str | None, data: bytes) -> str:
        name = f"{manifest.number:020d}-{uuid4().hex}"
        self._files.create(f"{_MANIFESTS}/{name}.json", memoryview(data))
        try:
            if known is None:
                begun = f"{HIDDEN}/{_BEGUN}{name}"
                self._files.create(f"{begun}/{name}", memoryview(b""))
                self._files.rename(begun, _NEWEST)
            else:
                self._files.rename(f"{_NEWEST}/{known}", f"{_NEWEST}/{name}")
        except (NotThere, Taken):
            raise Quicker from None
        if known is not None:
            # The next start does it otherwise.
            with suppress(StoreRejected):
                self._files.remove(f"{_MANIFESTS}/{known}.json")
        return name
