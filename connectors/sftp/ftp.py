"""Files below a folder of a server of FTP: in passive mode, with explicit TLS or without."""

import ftplib
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from connectors.objects.faults import Fault
from connectors.objects.files import Files, NotThere, Status, StoreRejected, Taken
from connectors.sftp.ftp_answers import FACTS, Listed, of_facts, of_line, status_of
from rocketconnect_sdk.http.login import Tls

if TYPE_CHECKING:
    import socket

_BYTES = "latin-1"
"""So the client takes every byte of a name for a sign, and what the bytes mean is decided here."""
_PIECE = 1 << 16
_SHOWN = 200
_NOT_THERE = "550"
"""Which many servers say of anything that they do not do with a file, too."""
_DEEPEST = 32
_KEYS = ("530", "332", "430")
_FULL = ("452", "552")
_UNKNOWN = ("500", "502", "504", "202")


@dataclass(frozen=True, slots=True)
class FtpLogin:
    """How a server of FTP is reached, and who we are there.

    Attributes:
        host: Its name or address.
        port: Its port.
        user: Of the server.
        password: Of the user.
        tls: Whom we trust; None: nothing is encrypted.
        seconds: How long the server may be silent.
    """

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    tls: Tls | None
    seconds: float = 30.0


class _Tls(ftplib.FTP_TLS):
    """A client whose connections of data belong to the session of TLS that the commands have, as many servers want it."""

    def ntransfercmd(self, cmd: str, rest: int | str | None = None) -> "tuple[socket.socket, int | None]":
        """See FTP."""
        connection, size = ftplib.FTP.ntransfercmd(self, cmd, rest)  # noqa: S321  # this is what it is for
        try:
            session = self.sock.session if isinstance(self.sock, ssl.SSLSocket) else None
            return self.context.wrap_socket(connection, server_hostname=self.host, session=session), size
        except BaseException:
            connection.close()
            raise


class FtpFiles(Files):
    """Files below a folder of a server of FTP. See Files.

    Args:
        root: The folder, as the server has it.
        login: Its server, and who we are there.
    """

    def __init__(self, root: str, login: FtpLogin) -> None:
        self._root = root.rstrip("/") or "/"
        self._login = login
        self._ftp: ftplib.FTP | None = None
        self._features: frozenset[str] = frozenset()
        self._ranges = True
        """Whether the server can begin within a file, as far as is known."""
        self._identities: dict[str, str] = {}
        """Of folders that were listed."""
        self._held: tuple[str, IO[bytes]] | None = None
        """A whole file, of a server that cannot."""

    def status(self, path: str) -> Status:
        """See Files."""
        with self._asking() as ftp:
            if "MLST" in self._features:
                found = _of_mlst(ftp, self._path(path))
                if found is not None and (found.is_folder or found.status is not None):
                    return found.status or Status("", True, 0, "")
            if self._is_folder(ftp, path):
                return Status("", True, 0, "")
            return _asked(ftp, "", self._path(path))

    def listed(self, path: str) -> Iterator[Status]:
        """See Files. A folder that is listed within itself, by a link, is left out where the server says which it is."""
        if path.count("/") >= _DEEPEST:
            raise StoreRejected(Fault.ENDLESS, path[:_SHOWN])
        with self._asking() as ftp:
            if not self._is_folder(ftp, path):
                raise NotThere(Fault.OTHER, "no such folder")
            folder = self._path(path)
            found = self._look(ftp, folder)
            files = [each.status or _if_there(ftp, each.name, f"{folder}/{each.name}") for each in found if not each.is_folder]
            above = self._above(ftp, path)
        yield from (Status(_text(each.name), False, each.size, each.tag) for each in files if each is not None)
        for each in found:
            if each.is_folder and (not each.identity or each.identity not in above):
                self._identities[f"{path}/{_text(each.name)}".lstrip("/")] = each.identity
                yield Status(_text(each.name), True, 0, each.identity)

    def _above(self, ftp: ftplib.FTP, path: str) -> set[str]:
        """Which folders a folder is in, itself among them, as far as the server says it."""
        if not path and "MLST" in self._features:
            root = _of_mlst(ftp, self._path(""))
            self._identities = {"": root.identity if root else ""}
        parts = path.split("/") if path else []
        return {self._identities.get("/".join(parts[:count]), "") for count in range(len(parts) + 1)}

    def _look(self, ftp: ftplib.FTP, folder: str) -> list[Listed]:
        if "MLST" in self._features:
            return list(filter(None, (of_facts(name, facts) for name, facts in ftp.mlsd(folder))))
        lines: list[str] = []
        # Names are listed from within the folder: some servers take what follows LIST for options.
        here = ftp.pwd()
        ftp.cwd(folder)
        try:
            ftp.retrlines("LIST", lines.append)
        finally:
            ftp.cwd(here)
        return list(filter(None, map(of_line, lines)))

    def _is_folder(self, ftp: ftplib.FTP, path: str) -> bool:
        here = ftp.pwd()
        try:
            ftp.cwd(self._path(path))
        except ftplib.error_perm as error:
            if str(error)[:3] == _NOT_THERE:
                return False
            raise
        ftp.cwd(here)
        return True

    def read(self, path: str, start: int, length: int) -> bytes:
        """See Files."""
        with self._asking() as ftp:
            name = self._path(path)
            if self._ranges:
                try:
                    return self._range(ftp, name, start, length)
                except ftplib.error_perm as error:
                    if not start or str(error)[:3] not in _UNKNOWN:
                        raise
                    self._ranges = False
            file = self._whole(ftp, name, start)
            file.seek(start)
            return file.read(length)

    def _range(self, ftp: ftplib.FTP, name: str, start: int, length: int) -> bytes:
        pieces, left = [], length
        # A listing before it was text.
        ftp.voidcmd("TYPE I")
        with ftp.transfercmd(f"RETR {name}", start or None) as connection:
            while left and (piece := connection.recv(min(_PIECE, left))):
                pieces.append(piece)
                left -= len(piece)
        try:
            ftp.voidresp()
        except (ftplib.error_temp, ftplib.error_perm):
            # Where all is there that was asked for, the server may say that it could not send the rest.
            if left:
                raise
        return b"".join(pieces)

    def _whole(self, ftp: ftplib.FTP, name: str, start: int) -> IO[bytes]:
        """A copy of a file, which is made anew when reading begins."""
        if self._held is not None and self._held[0] == name and start:
            return self._held[1]
        self._let_go()
        file = tempfile.TemporaryFile()  # noqa: SIM115  # held until another file is read
        self._held = name, file
        ftp.retrbinary(f"RETR {name}", file.write, _PIECE)
        return file

    def rename(self, path: str, new: str, *, over: bool = False) -> None:
        """See Files. Many servers replace what is there: without `over` it is looked for before."""
        if not over and self.is_there(new):
            raise Taken(Fault.OTHER, "something has this name")
        with self._doing(path) as ftp:
            ftp.rename(self._path(path), self._path(new))

    def make_folder(self, path: str) -> None:
        """See Files."""
        parts = path.split("/")
        with self._asking() as ftp:
            for count in range(1, len(parts) + 1):
                folder = "/".join(parts[:count])
                if not self._is_folder(ftp, folder):
                    ftp.mkd(self._path(folder))

    def remove(self, path: str) -> None:
        """See Files. Folders stay."""
        with suppress(NotThere), self._doing(path) as ftp:
            ftp.delete(self._path(path))

    @contextmanager
    def _doing(self, path: str) -> Iterator[ftplib.FTP]:
        """Changes something: what is there still may not be changed, whatever the server says."""
        try:
            with self._asking() as ftp:
                yield ftp
        except NotThere as error:
            if self.is_there(path):
                raise StoreRejected(Fault.DENIED, error.said) from None
            raise

    def close(self) -> None:
        """See Files."""
        self._let_go()
        ftp, self._ftp = self._ftp, None
        if ftp is not None:
            ftp.close()

    def _let_go(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held[1].close()

    @contextmanager
    def _asking(self) -> Iterator[ftplib.FTP]:
        """A connection, and what its errors mean. Raises NotThere and StoreRejected; HostRefused; what Tls.context does."""
        try:
            if self._ftp is None:
                self._ftp = self._connected()
            yield self._ftp
        except (ftplib.Error, OSError, EOFError, ValueError) as error:
            refused = understood(error)
            if refused.fault is Fault.AWAY or not isinstance(error, ftplib.error_perm):
                self.close()
            raise refused from None

    def _connected(self) -> ftplib.FTP:
        login = self._login
        ftp: ftplib.FTP
        if login.tls is None:
            ftp = ftplib.FTP(timeout=login.seconds, encoding=_BYTES)  # noqa: S321  # somebody has said tls=false
        else:
            ftp = _Tls(timeout=login.seconds, encoding=_BYTES, context=login.tls.context())
        try:
            ftp.connect(login.host, login.port)
            ftp.login(_sign(login.user), _sign(login.password))
            if isinstance(ftp, ftplib.FTP_TLS):
                ftp.prot_p()
            self._features = _features(ftp)
            with suppress(ftplib.error_perm):
                ftp.sendcmd("OPTS UTF8 ON")
            if "MLST" in self._features:
                with suppress(ftplib.error_perm):
                    ftp.sendcmd(f"OPTS MLST {';'.join(FACTS)};")
        except BaseException as error:
            ftp.close()
            if isinstance(error, ftplib.error_perm) and str(error)[:3] == _NOT_THERE:
                # No file was asked for yet.
                raise StoreRejected(Fault.UNABLE, str(error)[:_SHOWN]) from None
            raise
        return ftp

    def _path(self, path: str) -> str:
        return _sign("/".join(filter(None, (self._root.rstrip("/"), path))) if path else self._root)


def understood(error: Exception) -> StoreRejected:
    """What an error of the client means."""
    said, code = str(error)[:_SHOWN] or type(error).__name__, str(error)[:3]
    if isinstance(error, ssl.SSLCertVerificationError):
        return StoreRejected(Fault.UNKNOWN, said)
    if isinstance(error, ValueError):
        return StoreRejected(Fault.OTHER, f"a name that FTP has no word for: {said}")
    if isinstance(error, ftplib.error_perm | ftplib.error_temp):
        if code == _NOT_THERE:
            denied = any(word in said.lower() for word in ("denied", "permi", "privilege"))
            return StoreRejected(Fault.DENIED, said) if denied else NotThere(Fault.OTHER, said)
        found = {_KEYS: Fault.KEYS, _FULL: Fault.FULL, _UNKNOWN: Fault.UNABLE}
        otherwise = Fault.OTHER if isinstance(error, ftplib.error_perm) else Fault.AWAY
        return StoreRejected(next((fault for codes, fault in found.items() if code in codes), otherwise), said)
    return StoreRejected(Fault.AWAY, said)


def _of_mlst(ftp: ftplib.FTP, path: str) -> Listed | None:
    lines = ftp.sendcmd(f"MLST {path}").splitlines()
    line = next((line.strip() for line in lines if line.startswith(" ")), "")
    words, _, _ = line.partition(" ")
    pairs = (each.partition("=") for each in words.split(";"))
    return of_facts("", {name.lower(): value for name, _, value in pairs})


def _asked(ftp: ftplib.FTP, name: str, path: str) -> Status:
    """A file, by two questions."""
    # A size as text not all servers tell.
    ftp.voidcmd("TYPE I")
    time = ftp.sendcmd(f"MDTM {path}")[4:].strip()
    return status_of(name, ftp.size(path) or 0, time)


def _if_there(ftp: ftplib.FTP, name: str, path: str) -> Status | None:
    """The same; None: it is gone since it was listed, or the server cannot give what it lists."""
    try:
        return _asked(ftp, name, path)
    except ftplib.error_perm as error:
        if str(error)[:3] != _NOT_THERE:
            raise
        return None


def _features(ftp: ftplib.FTP) -> frozenset[str]:
    try:
        return frozenset(line.strip().partition(" ")[0].upper() for line in ftp.sendcmd("FEAT").splitlines()[1:-1])
    except ftplib.error_perm:
        return frozenset()


def _sign(text: str) -> str:
    """The bytes of a text, each as a sign."""
    return text.encode(errors="surrogateescape").decode(_BYTES)


def _text(signs: str) -> str:
    return signs.encode(_BYTES).decode(errors="surrogateescape")
