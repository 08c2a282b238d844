"""OpenSSH's server of SFTP (Debian: apt-get install openssh-server), as a user who may do nothing else."""

import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

import psutil

from tests import free_ports
from tests.server_process import Server, ServerFailed, takes_connections

_PROGRAM = "/usr/sbin/sshd"
_folders = count()
USER = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
"""Who runs it, and who logs in: it needs no rights of root."""


class OpenSsh(Server):
    """A server, which lets one user in, with one key.

    Args:
        denied: A request of SFTP that it does not know; empty: it knows all.

    Attributes:
        port: Its port.
        fingerprint: Of its host key.
    """

    title = "OpenSSH"
    prefix = "rocketconnect-sftp-"

    def __init__(self, denied: str = "") -> None:
        super().__init__()
        self.port = free_ports.choose()
        self._denied = f"-P {denied}" if denied else ""
        self.folder.chmod(0o711)
        self.new_host_key()
        self._make_key("user")
        self.files = self.folder / "files"
        self.files.mkdir()
        self._hand_over(self.files)

    def new_host_key(self) -> None:
        """It has another host key when it starts again."""
        self._make_key("host")
        self._hand_over(self.folder / "host")
        shown = subprocess.run(["ssh-keygen", "-lf", self.folder / "host.pub"], check=True, capture_output=True, text=True).stdout
        self.fingerprint = shown.split()[1]

    def _make_key(self, name: str) -> None:
        for path in (self.folder / name, self.folder / f"{name}.pub"):
            path.unlink(missing_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", self.folder / name], check=True)

    def _hand_over(self, path: Path) -> None:
        if os.geteuid() == 0:
            shutil.chown(path, USER)

    def command(self) -> Sequence[str]:
        """See Server."""
        setpriv = shutil.which("setpriv")
        if setpriv is None or not Path(_PROGRAM).exists():
            msg = "sshd and setpriv are needed (Debian: apt-get install openssh-server util-linux)"
            raise ServerFailed(msg)
        lines = (
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {self.folder}/host",
            f"AuthorizedKeysFile {self.folder}/user.pub",
            "PidFile none",
            "StrictModes no",
            # Without it Debian's takes a user without a password for one who is locked out.
            "UsePAM yes",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "MaxStartups 100",
            f"ForceCommand internal-sftp -d {self.files} {self._denied}",
            "Subsystem sftp internal-sftp",
        )
        (self.folder / "sshd.conf").write_text("".join(f"{line}\n" for line in lines))
        who: Sequence[str] = ()
        if os.geteuid() == 0:
            found = pwd.getpwnam(USER)
            who = (f"--reuid={found.pw_uid}", f"--regid={found.pw_gid}", "--clear-groups")
        return [setpriv, "--pdeathsig", "KILL", *who, _PROGRAM, "-D", "-e", "-f", str(self.folder / "sshd.conf")]

    def answers(self) -> bool:
        """See Server."""
        return takes_connections(self.port)

    @property
    def key(self) -> str:
        """The private key of the user."""
        return (self.folder / "user").read_text()

    def options(self) -> Mapping[str, str]:
        """The options of a connector for it, but for the folder."""
        return {
            "host": "127.0.0.1",
            "port": str(self.port),
            "username": USER,
            "private.key.location": str(self.folder / "user"),
            "host.fingerprint": self.fingerprint,
        }

    def made(self) -> Path:
        """A folder with nothing in it, as the server and this machine have it."""
        made = self.files / f"folder-{next(_folders)}"
        made.mkdir()
        self._hand_over(made)
        return made

    def sessions(self) -> frozenset[int]:
        """The processes that serve connections now: each has several."""
        if self._process is None:
            return frozenset()
        return frozenset(each.pid for each in psutil.Process(self._process.pid).children(recursive=True))

    @staticmethod
    def send(number: signal.Signals, sessions: Iterable[int]) -> None:
        """A signal to such processes, as far as they are there."""
        for pid in sessions:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
