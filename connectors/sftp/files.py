"""Files below a folder of a server of SFTP."""

import stat
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

import asyncssh
from asyncssh import SFTPAttrs, SFTPClient

from connectors.objects.faults import Fault
from connectors.objects.files import NotThere, StagedFiles, Status, StoreRejected, Taken
from connectors.sftp.server import SftpServer
from connectors.sftp.session import Session

_PIECE = 1 << 20
"""So much has to come, or to go, while a server may be silent."""


class SftpFiles(StagedFiles):
    """Files below a folder of a server of SFTP. See StagedFiles.

    Names that are no UTF-8 have the bytes that are none as Python has them in names of files: surrogates.

    Args:
        root: The folder, as the server has it.
        login: Its server, and who we are there.
    """

    def __init__(self, root: str, login: SftpServer) -> None:
        self._root = root.rstrip("/") or "/"
        self._session = Session(login)

    def status(self, path: str) -> Status:
        """See Files. Of a link what it leads to."""
        return _status("", self._session.ask(lambda client: client.stat(self._path(path))))

    def listed(self, path: str) -> Iterator[Status]:
        """See Files. Links to files are files; those to folders, and those that lead nowhere or in circles, are left out."""
        folder = self._path(path)
        for name, attrs in self._session.ask(lambda client: _names(client, folder, self._session.heard)):
            if _kind(attrs) == stat.S_IFLNK:
                with suppress(NotThere, _Circle):
                    found = self._followed(f"{path}/{name}".lstrip("/"))
                    if not found.is_folder:
                        yield Status(name, False, found.size, found.tag)
            elif _kind(attrs) in (stat.S_IFREG, stat.S_IFDIR):
                yield _status(name, attrs)

    def _followed(self, path: str) -> Status:
        try:
            return self.status(path)
        except StoreRejected as error:
            # Of a circle of links OpenSSH says no more than that it failed.
            if error.fault is Fault.OTHER and not isinstance(error, NotThere):
                raise _Circle from None
            raise

    def read(self, path: str, start: int, length: int) -> bytes:
        """See Files."""
        name = self._path(path)

        async def work(client: SFTPClient) -> bytes:
            pieces = []
            async with client.open(name, "rb") as opened:
                for at in range(start, start + length, _PIECE):
                    piece = await opened.read(min(_PIECE, start + length - at), at)
                    # Of a file that is opened so they are bytes.
                    pieces.append(piece.encode() if isinstance(piece, str) else piece)
                    self._session.heard()
                    if len(piece) < _PIECE:
                        break
            return b"".join(pieces)

        return self._session.ask(work)

    def create(self, path: str, data: memoryview) -> None:
        """See StagedFiles. It is on the disk of the server where that can be told to write it there."""
        try:
            self._create(path, data)
        except NotThere:
            self.make_folder(path.rpartition("/")[0])
            self._create(path, data)

    def _create(self, path: str, data: memoryview) -> None:
        name = self._path(path)

        async def work(client: SFTPClient) -> None:
            async with client.open(name, "xb") as opened:
                try:
                    for at in range(0, len(data), _PIECE):
                        await write(opened, bytes(data[at : at + _PIECE]), at)
                        self._session.heard()
                    with suppress(asyncssh.SFTPOpUnsupported):
                        await opened.fsync()
                except asyncssh.SFTPFailure as error:
                    # More than that it failed the protocol has no word for.
                    raise StoreRejected(Fault.FULL, error.reason) from None

        try:
            change(self._session, work)
        except StoreRejected as error:
            self._check_taken(error, path)
            raise

    def rename(self, path: str, new: str, *, over: bool = False) -> None:
        """See Files. By posix-rename@openssh.com, which replaces what is there: without `over` it is looked for before."""
        if not over and self._has(new):
            raise Taken(Fault.OTHER, "something has this name")
        try:
            change(self._session, lambda client: client.posix_rename(self._path(path), self._path(new)))
        except NotThere:
            raise
        except StoreRejected as error:
            if not over:
                self._check_taken(error, new)
            raise

    def _check_taken(self, error: StoreRejected, path: str) -> None:
        """Raises Taken: what the server has refused without a reason was because something has this path."""
        if error.fault is Fault.OTHER and self._has(path):
            raise Taken(Fault.OTHER, error.said) from None

    def _has(self, path: str) -> bool:
        try:
            self._session.ask(lambda client: client.lstat(self._path(path)))
        except NotThere:
            return False
        return True

    def make_folder(self, path: str) -> None:
        """See Files."""
        parts = self._path(path).decode(errors="surrogateescape").split("/")
        try:
            self._make(parts)
        except NotThere:
            for count in range(1, len(parts)):
                if parts[:count] != [""]:
                    self._make(parts[:count])
            self._make(parts)

    def _make(self, parts: list[str]) -> None:
        folder = _bytes("/".join(parts))
        try:
            change(self._session, lambda client: client.mkdir(folder))
        except NotThere:
            raise
        except StoreRejected as error:
            if not self._session.ask(lambda client: client.isdir(folder)):
                raise error from None

    def remove(self, path: str) -> None:
        """See Files. A link is removed, and not what it leads to."""
        name = self._path(path)
        with suppress(NotThere):
            if _kind(self._session.ask(lambda client: client.lstat(name))) != stat.S_IFDIR:
                change(self._session, lambda client: client.remove(name))
                return
            for each, _ in self._session.ask(lambda client: _names(client, name, self._session.heard)):
                self.remove(f"{path}/{each}".lstrip("/"))
            change(self._session, lambda client: client.rmdir(name))

    def close(self) -> None:
        """See Files."""
        self._session.close()

    def _path(self, path: str) -> bytes:
        return _bytes("/".join(filter(None, (self._root.rstrip("/"), path))) if path else self._root)


class _Circle(Exception):
    """A link leads to itself."""


def change(session: Session, work: Callable[[SFTPClient], Awaitable[object]]) -> None:
    """Everything that changes something on a server goes through here. Raises as Session.ask."""
    session.ask(work)


async def write(opened: asyncssh.SFTPClientFile, data: bytes, at: int) -> None:
    """Every piece of a file goes through here."""
    await opened.write(data, at)


async def _names(client: SFTPClient, folder: bytes, heard: Callable[[], None]) -> list[tuple[str, SFTPAttrs]]:
    found = []
    async for each in client.scandir(folder):
        # Asked for by its bytes it comes so.
        name = each.filename if isinstance(each.filename, str) else each.filename.decode(errors="surrogateescape")
        if name not in (".", ".."):
            found.append((name, each.attrs))
            heard()
    return found


def _bytes(path: str) -> bytes:
    return path.encode(errors="surrogateescape")


def _kind(attrs: SFTPAttrs) -> int:
    return stat.S_IFMT(attrs.permissions or 0)


def _status(name: str, attrs: SFTPAttrs) -> Status:
    size, time = attrs.size or 0, attrs.mtime or 0
    return Status(name, _kind(attrs) == stat.S_IFDIR, size, f"{int(time):x}-{size:x}")
