"""Who sends messages of syslog: a client of RELP that waits for each answer, logger, and rsyslog."""

import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rocketconnect_kit.tethered import tethered


def relp(port: int, texts: Sequence[bytes], *, answers: list[bytes] | None = None) -> bool:
    """Sends messages at once over a connection of their own, and waits for the answers: whether all say that it is stored."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection, connection.makefile("rb") as said:
        connection.sendall(b"1 open 24 relp_version=0\ncommands=\n")
        if not _answered(said, 1, answers):
            return False
        commands = [b"%d syslog %d %b\n" % (number, len(text), text) for number, text in enumerate(texts, 2)]
        connection.sendall(b"".join(commands))
        told = [_answered(said, number, answers) for number in range(2, 2 + len(texts))]
        if not all(told):
            return False
        connection.sendall(b"%d close 0\n" % (2 + len(texts)))
        return said.read() == b"%d rsp 0\n0 serverclose 0\n" % (2 + len(texts))


def _answered(said: IO[bytes], number: int, answers: list[bytes] | None) -> bool:
    head = b""
    while head.count(b" ") < 3 and (one := said.read(1)):
        head += one
    parts = head.split()
    if len(parts) != 3:
        return False
    text = said.read(int(parts[2]) + 1)
    if answers is not None:
        answers.append(head + text)
    return parts[:2] == [b"%d" % number, b"rsp"] and text.startswith(b"200 ")


def logger(port: int, *words: str) -> None:
    """What util-linux's logger sends."""
    subprocess.run(["logger", "--server", "127.0.0.1", "--port", str(port), *words], check=True, timeout=60)


@contextmanager
def rsyslog(folder: Path, rules: str) -> Iterator[Path]:
    """rsyslog that forwards what comes into a socket by rules; it keeps what it can't send. Gives the socket."""
    folder.mkdir(exist_ok=True)
    path = folder / "log"
    config = folder / "rsyslog.conf"
    config.write_text(
        f'global(workDirectory="{folder}" net.enableDNS="off")\nmodule(load="imuxsock" sysSock.use="off")\n'
        f'input(type="imuxsock" socket="{path}" useSysTimestamp="off" rateLimit.interval="0")\n{rules}\n'
    )
    words = ["/usr/sbin/rsyslogd", "-n", "-f", str(config), "-i", str(folder / "pid")]
    with (folder / "out").open("ab") as out:
        process = subprocess.Popen(tethered(words), stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        yield path
    finally:
        process.terminate()
        process.wait(60)
