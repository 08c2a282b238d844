"""A server of SFTP in a thread of this process (asyncssh), for what OpenSSH does to users of this machine alone: passwords."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncssh

USER = "tester"


class _Users(asyncssh.SSHServer):
    def __init__(self, password: str, prompts: tuple[str, ...], there: list[asyncssh.SSHServerConnection]) -> None:
        self._password = password
        self._prompts = prompts
        self._there = there

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._there.append(conn)

    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return False

    def password_auth_supported(self) -> bool:
        return not self._prompts

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == (USER, self._password)

    def kbdint_auth_supported(self) -> bool:
        return bool(self._prompts)

    def get_kbdint_challenge(self, username: str, lang: str, submethods: str) -> Any:
        return "", "", "", [(prompt, False) for prompt in self._prompts]

    def validate_kbdint_response(self, username: str, responses: Any) -> bool:
        return (username, list(responses)) == (USER, [self._password] * len(self._prompts))


@contextmanager
def running(
    folder: Path, password: str, *, prompts: tuple[str, ...] = (), files: Callable[..., asyncssh.SFTPServer] | None = None
) -> Iterator[Mapping[str, str]]:
    """Runs until the end of the block; gives the options of a connector for it, but for the folder and the password.

    Args:
        folder: Its root.
        password: Of the user.
        prompts: What it asks for by keyboard-interactive. None: it takes a password as it is.
        files: What answers requests; None: the folder.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    key = asyncssh.generate_private_key("ssh-ed25519")
    there: list[asyncssh.SSHServerConnection] = []

    async def listen() -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[key],
            server_factory=lambda: _Users(password, prompts, there),
            sftp_factory=lambda channel: (files or asyncssh.SFTPServer)(channel, chroot=str(folder).encode()),
        )

    async def end() -> None:
        server.close()
        await server.wait_closed()
        for connection in there:
            connection.abort()
            await connection.wait_closed()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)

    try:
        server = asyncio.run_coroutine_threadsafe(listen(), loop).result()
        yield {
            "host": "127.0.0.1",
            "port": str(server.get_port()),
            "username": USER,
            "host.fingerprint": key.get_fingerprint("sha256"),
        }
        asyncio.run_coroutine_threadsafe(end(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
