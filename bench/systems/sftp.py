"""Files of OpenSSH's server of SFTP."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncssh

from bench.systems import moved
from bench.systems.driving import BATCH, sinking, sourcing
from bench.systems.system import Compared, Move
from connectors.sftp.sink import SftpSink
from connectors.sftp.source import SftpSource
from tests.servers.files.openssh import USER, OpenSsh


@contextmanager
def compared(records: int) -> Iterator[list[Compared]]:
    """The sink and the source, of a file for each batch, until the end of the block."""
    with OpenSsh().running() as server:
        full, target = server.made(), [server.made()]
        for begin in range(0, records, BATCH):
            (full / f"{begin:09}.txt").write_text(_lines(begin, records), encoding="utf-8")
        reading = {"path": str(full), "format": "text", "complete.when": "rename", **server.options()}

        def writing() -> dict[str, str]:
            return {"path": str(target[0]), "format": "jsonlines", "partition.path": "", **server.options()}

        def renew() -> None:
            target[0] = server.made()

        yield [
            Compared(
                "sftp_sink",
                "asyncssh",
                lambda: sinking(SftpSink(), writing(), records),
                lambda: _put(server, target[0], records),
                lambda: _found(target[0]),
                renew,
            ),
            Compared(
                "sftp_source",
                "asyncssh",
                lambda: sourcing(SftpSource(), reading, records),
                lambda: _get(server, full),
            ),
        ]


@contextmanager
def _put(server: OpenSsh, folder: Path, records: int) -> Iterator[Move]:
    parts = [_lines(begin, records) for begin in range(0, records, BATCH)]

    async def put(client: Any) -> None:
        for number, part in enumerate(parts):
            async with client.open(f"{folder}/{number:09}.jsonl", "w") as file:
                await file.write(part)

    with _connected(server) as run:

        def move() -> tuple[str, ...]:
            run(put)
            return ()

        yield move


@contextmanager
def _get(server: OpenSsh, folder: Path) -> Iterator[Move]:
    async def get(client: Any) -> list[str]:
        found: list[str] = []
        for name in await client.glob(f"{folder}/*.txt"):
            async with client.open(name) as file:
                found += (await file.read()).splitlines()
        return found

    with _connected(server) as run:
        yield lambda: run(get)


@contextmanager
def _connected(server: OpenSsh) -> Iterator[Callable[[Callable[[Any], Awaitable[Any]]], Any]]:
    """What runs something with a client that is connected."""
    options = {"username": USER, "client_keys": [str(server.folder / "user")], "known_hosts": None, "config": None}
    with asyncio.Runner() as runner:
        connection: Any = None

        async def connected() -> Any:
            nonlocal connection
            connection = await asyncssh.connect("127.0.0.1", server.port, **options)
            return await connection.start_sftp_client()

        client = runner.run(connected())

        async def done(work: Callable[[Any], Awaitable[Any]]) -> Any:
            return await work(client)

        yield lambda work: runner.run(done(work))
        connection.abort()


def _lines(begin: int, records: int) -> str:
    return "".join(f"{moved.text(number)}\n" for number in range(begin, min(begin + BATCH, records)))


def _found(folder: Path) -> Iterator[str]:
    """The lines of all files but those that have positions."""
    for path in folder.rglob("*.jsonl"):
        yield from path.read_text(encoding="utf-8").splitlines()
