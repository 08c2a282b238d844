"""A server of FTP: pyftpdlib, in a process of its own."""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

from tests import free_ports
from tests.server_process import Server, ServerFailed, takes_connections

_folders = count()
USER, PASSWORD = "tester", "secret ü"
RIGHTS = "elradfmwMT"


class Ftp(Server):
    """A server of a folder.

    Args:
        without: Commands that it does not know.
        certificate: Of the server, with its key: it wants TLS for everything. None: it speaks none.
        rights: Of the user, as pyftpdlib has them.

    Attributes:
        port: Where it listens.
    """

    title = "FTP"
    prefix = "rocketconnect-ftp-"

    def __init__(self, without: Sequence[str] = (), certificate: Path | None = None, rights: str = RIGHTS) -> None:
        super().__init__()
        self.port = free_ports.choose()
        self._without = list(without)
        self._certificate = certificate
        self._rights = rights
        self.files = self.folder / "files"
        self.files.mkdir()

    def command(self) -> Sequence[str]:
        """See Server."""
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            msg = "setpriv is needed (Debian: apt-get install util-linux)"
            raise ServerFailed(msg)
        certificate = str(self._certificate or "")
        told = [str(self.files), self.port, USER, PASSWORD, self._rights, self._without, certificate]
        script = Path(__file__).with_name("ftp_process.py")
        # What it is made of is old.
        return [setpriv, "--pdeathsig", "KILL", sys.executable, "-W", "ignore", str(script), json.dumps(told)]

    def answers(self) -> bool:
        """See Server."""
        return takes_connections(self.port)

    def options(self) -> Mapping[str, str]:
        """The options of a connector for it, but for the folder; the password is a reference."""
        return {"host": "127.0.0.1", "port": str(self.port), "username": USER, "password": "${env:FTP_PASSWORD}", "tls": "false"}

    def made(self) -> Path:
        """A folder with nothing in it, as this machine has it."""
        made = self.files / f"folder-{next(_folders)}"
        made.mkdir()
        return made

    def asked(self, command: str) -> int:
        """How often a command came."""
        return (self.folder / "server.log").read_text().split().count(command)
