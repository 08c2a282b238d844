"""A connection to a server of SFTP: made when it is needed, to that server alone that is known, and made again after it broke."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar
from weakref import finalize

import asyncssh

from connectors.objects.faults import Fault
from connectors.objects.files import NotThere, StoreRejected
from connectors.sftp.loop import loop, wait_for
from connectors.sftp.server import SftpServer
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.permissions.roots import reading

_AUTH = "publickey,keyboard-interactive,password"
_SHOWN = 200
_ENCRYPTED = "ENCRYPTED"
_Result = TypeVar("_Result")
_FAULTS: dict[type[BaseException], Fault] = {
    asyncssh.SFTPPermissionDenied: Fault.DENIED,
    asyncssh.SFTPWriteProtect: Fault.DENIED,
    asyncssh.SFTPOpUnsupported: Fault.UNABLE,
    asyncssh.SFTPNoSpaceOnFilesystem: Fault.FULL,
    asyncssh.SFTPQuotaExceeded: Fault.FULL,
    asyncssh.SFTPConnectionLost: Fault.AWAY,
    asyncssh.SFTPNoConnection: Fault.AWAY,
    asyncssh.PermissionDenied: Fault.KEYS,
    asyncssh.KeyExchangeFailed: Fault.UNABLE,
    asyncssh.ProtocolNotSupported: Fault.UNABLE,
    asyncssh.ChannelOpenError: Fault.UNABLE,
    asyncssh.DisconnectError: Fault.AWAY,
    OSError: Fault.AWAY,
}
_NOT_THERE = (asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath)


class _Held:
    """What is open, for whoever closes it when nobody needs it any more."""

    def __init__(self) -> None:
        self.connection: asyncssh.SSHClientConnection | None = None
        self.client: asyncssh.SFTPClient | None = None

    def drop(self) -> None:
        """Ends the connection, without waiting for the server. In the thread of the loop."""
        connection, self.connection, self.client = self.connection, None, None
        if connection is not None:
            connection.abort()


class Session:
    """A connection to a server. Requests are made one after the other.

    Args:
        login: See there.
    """

    def __init__(self, login: SftpServer) -> None:
        self._login = login
        self._held = _Held()
        self._process = os.getpid()
        self._timer: asyncio.TimerHandle
        self._is_silent = False
        # A daemon thread may be gone at the end of the process, and with it whoever would end the connection.
        finalize(self, _end, self._held, self._process).atexit = False

    def ask(self, work: Callable[[asyncssh.SFTPClient], Awaitable[_Result]]) -> _Result:
        """Does work on the server, which may be silent for so long as `login` says.

        Raises:
            NotThere: there is no such file or folder.
            StoreRejected: see there; where the server did not answer in time the connection is ended.
            PermanentError: a file of the login cannot be used, or the executor lets no connector speak to the host.
        """
        held = self._held
        # Servers end what is silent for long: that is no reason to wait for them.
        there = held.connection is not None and not held.connection.is_closed()
        client = held.client if there else None
        return wait_for(self._asked(client or self._connected(), work))

    def heard(self) -> None:
        """For work that goes on for long: the server has answered, and may be silent anew."""
        self._timer.cancel()
        self._timer = loop().call_later(self._login.seconds, self._give_up)

    def _give_up(self) -> None:
        """Whatever is waited for ends with the connection, also what would end a request in good order."""
        self._is_silent = True
        self._held.drop()

    def close(self) -> None:
        """Ends the connection. The next request makes another one."""
        _end(self._held, self._process)

    async def _asked(self, client: asyncssh.SFTPClient, work: Callable[[asyncssh.SFTPClient], Awaitable[_Result]]) -> _Result:
        self._is_silent = False
        self._timer = loop().call_later(self._login.seconds, self._give_up)
        try:
            return await work(client)
        except BaseException as error:
            refused = understood(TimeoutError() if self._is_silent else error, self._login.seconds)
            if refused is None or refused.fault is Fault.AWAY:
                self._held.drop()
            if refused is None:
                raise
            raise refused from None
        finally:
            self._timer.cancel()

    def _connected(self) -> asyncssh.SFTPClient:
        login = self._login
        known, key = _known_hosts(login), _key(login)
        try:
            # By Python's own sockets, which are held to the hosts that connectors may speak to.
            sock = socket.create_connection((login.host, login.port), login.seconds)
        except OSError as error:
            raise StoreRejected(Fault.AWAY, str(error) or type(error).__name__) from None
        sock.setblocking(False)
        return wait_for(self._opened(sock, known, key))

    async def _opened(self, sock: socket.socket, known: asyncssh.SSHKnownHosts, key: asyncssh.SSHKey | None) -> asyncssh.SFTPClient:
        login, trust = self._login, _Trust(self._login.fingerprints)
        try:
            async with asyncio.timeout(login.seconds):
                self._held.connection = await asyncssh.connect(
                    login.host,
                    login.port,
                    sock=sock,
                    client_factory=lambda: trust,
                    known_hosts=known,
                    username=login.user,
                    password=login.password or None,
                    client_keys=None if key is None else [key],
                    preferred_auth=_AUTH,
                    # Nothing that the machine has for people who log in there is used.
                    config=None,
                    agent_path=None,
                    gss_host=None,
                    x509_trusted_certs=None,
                )
                self._held.client = client = await self._held.connection.start_sftp_client(path_encoding=None)
                return client
        except BaseException as error:
            sock.close()
            self._held.drop()
            if isinstance(error, asyncssh.HostKeyNotVerifiable) or (isinstance(error, asyncssh.KeyExchangeFailed) and trust.shown):
                raise StoreRejected(Fault.UNKNOWN, f"{trust.shown or error.reason}") from None
            refused = understood(error, login.seconds)
            if refused is None:
                raise
            raise refused from None


class _Trust(asyncssh.SSHClient):
    """Whether a host key is one that is known. Nothing is ever taken on trust.

    Attributes:
        shown: The key that was not: its type and its fingerprint.
    """

    def __init__(self, fingerprints: tuple[str, ...]) -> None:
        self._fingerprints = fingerprints
        self.shown = ""

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        """See SSHClient. Called where the key is not in the file of known hosts."""
        del host, addr, port
        fingerprint = key.get_fingerprint("sha256")
        if fingerprint in self._fingerprints:
            return True
        self.shown = f"it shows the key {key.get_algorithm()} {fingerprint}"
        return False


def understood(error: BaseException, seconds: float) -> StoreRejected | None:
    """What an error of the client means; None: nothing that a server says."""
    if isinstance(error, StoreRejected):
        return error
    if isinstance(error, TimeoutError):
        return StoreRejected(Fault.AWAY, f"nothing came for {seconds:g} s")
    said = (str(getattr(error, "reason", "") or error).strip() or type(error).__name__)[:_SHOWN]
    if isinstance(error, _NOT_THERE):
        return NotThere(Fault.OTHER, said)
    found = next((fault for kind, fault in _FAULTS.items() if isinstance(error, kind)), None)
    if found is None and isinstance(error, asyncssh.Error):
        found = Fault.OTHER
    return None if found is None else StoreRejected(found, said)


def _end(held: _Held, process: int) -> None:
    if held.connection is not None and process == os.getpid():
        with suppress(RuntimeError):
            loop().call_soon_threadsafe(held.drop)


def _known_hosts(login: SftpServer) -> asyncssh.SSHKnownHosts:
    """The hosts that are known; none, where no file says any."""
    text = _text(login.known_hosts, "known.hosts") if login.known_hosts else ""
    try:
        return asyncssh.import_known_hosts(text)
    except ValueError as error:
        msg = f"known.hosts={login.known_hosts}: {error}. Put a file there as ssh-keyscan writes it"
        raise PermanentError(msg).naming("known.hosts") from None


def _key(login: SftpServer) -> asyncssh.SSHKey | None:
    option = "private.key" if login.key else "private.key.location"
    text = login.key or (_text(login.key_file, option) if login.key_file else "")
    return key_of(text, login.passphrase, option) if text else None


def key_of(text: str, passphrase: str, option: str) -> asyncssh.SSHKey:
    """A private key.

    Raises:
        PermanentError: names the option; no part of the key is repeated.
    """
    try:
        return asyncssh.import_private_key(text, passphrase or None)
    except (asyncssh.KeyEncryptionError, asyncssh.KeyImportError) as error:
        # Of a PEM that is encrypted a wrong passphrase makes what looks like no key.
        if isinstance(error, asyncssh.KeyEncryptionError) or "assphrase" in str(error) or (passphrase and _ENCRYPTED in text):
            reason = "is not the passphrase of the private key" if passphrase else "is not given, and the private key has one"
            msg = f"private.key.passphrase {reason}. Set it to a reference to the right one"
            raise PermanentError(msg).naming("private.key.passphrase") from None
        msg = f"{option} is no private key of OpenSSH or PEM. Give what ssh-keygen has written, with its first and last line"
        raise PermanentError(msg).naming(option) from None


def _text(path: str, option: str) -> str:
    try:
        with os.fdopen(reading().open(path, os.O_RDONLY), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        msg = f"{option}={path}: {error.strerror}. Put the file there on the executor, where its user can read it"
        raise PermanentError(msg).naming(option) from None
