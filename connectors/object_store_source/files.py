"""Files of a server."""

from collections.abc import Iterator, Sequence

from connectors.object_store_source.listing import Found, Gone, Objects
from connectors.objects.files import Files, NotThere, StoreRejected, asking
from connectors.objects.location import Location
from rocketconnect_sdk.errors import SystemAway

COPYING = "._COPYING_"
"""What `hdfs dfs -put` writes has a name that ends so, until it is whole."""


class FilesFolder(Objects):
    """Files below a folder, which are there whole.

    Args:
        place: The folder.
        files: What is below it.
        unfinished: Names that end so are of files that are not whole.
    """

    def __init__(self, place: Location, files: Files, unfinished: Sequence[str]) -> None:
        self._place = place
        self._files = files
        self._unfinished = tuple(unfinished)

    def all(self) -> Iterator[Found]:
        """See Objects. What is hidden is not looked into."""
        with asking(self._place):
            try:
                root = self._files.status("")
            except NotThere:
                root = None
            if root is None or not root.is_folder:
                msg = f"{self._place} is no folder, or not there yet"
                raise SystemAway(msg)
            yield from self._below("")

    def _below(self, folder: str) -> Iterator[Found]:
        try:
            listed = list(self._files.listed(folder))
        except NotThere:
            return
        for each in listed:
            name = f"{folder}/{each.name}".lstrip("/")
            if not each.is_folder:
                if not each.name.endswith(self._unfinished):
                    yield Found(name, each.tag, each.size)
            elif not each.name.startswith(("_", ".")):
                yield from self._below(name)

    def read(self, found: Found, start: int, length: int) -> bytes:
        """See Objects. A file that is the one that was listed, behind the reading, was so at the reading."""
        with asking(self._place):
            data, refused = b"", None
            try:
                data = self._files.read(found.name, start, length)
            except StoreRejected as error:
                refused = error
            self._check(found)
            if refused is not None:
                raise refused
        return data

    def _check(self, found: Found) -> None:
        """Raises Gone: another file has its name, or none."""
        try:
            if self._files.status(found.name).tag != found.tag:
                raise Gone
        except NotThere:
            raise Gone from None

    def close(self) -> None:
        """See Objects."""
        self._files.close()
