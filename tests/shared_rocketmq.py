"""One real RocketMQ for all processes of a test run: `python -m tests.shared_rocketmq FOLDER` keeps it while somebody uses it.

A broker costs 8 s of a processor to start, and a tenth of one while it runs: each worker of pytest-xdist would pay that.
"""

import fcntl
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.server_process import START_SECONDS

FOLDER = "rocketmq"
"""The name of its folder within that of a run."""
_ROOT = Path(__file__).parents[1]
_END_SECONDS = 20.0
_POLL_SECONDS = 0.05
_KEEPERS: list[subprocess.Popen[bytes]] = []
"""Those that this process started, which outlive it."""


class RocketMQFailed(Exception):
    """It does not start; the text has its log."""


@dataclass(frozen=True, slots=True)
class RocketMQ:
    """A RocketMQ that runs.

    Args:
        name_server: The address of its name server, "127.0.0.1:port".
        broker: That of its broker.
        jars: The folder with its jars.
    """

    name_server: str
    broker: str
    jars: Path


@contextmanager
def shared(folder: Path) -> Iterator[RocketMQ]:
    """The one of all processes that name this folder: the first starts it, it ends when all have left, or are dead.

    Raises:
        RocketMQFailed: it does not start.
    """
    folder.mkdir(exist_ok=True)
    # The system takes locks back from the dead.
    with (folder / "users").open("w") as users, (folder / "turn").open("w") as turn:
        fcntl.flock(users, fcntl.LOCK_SH)
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not _told(folder).exists():
            _have_it_kept(folder)
        told = json.loads(_told(folder).read_text(encoding="utf-8"))
        fcntl.flock(turn, fcntl.LOCK_UN)
        yield RocketMQ(told["name_server"], told["broker"], Path(told["jars"]))


def spent(folder: Path) -> float:
    """The processor seconds that it used until it ended; 0 where nobody started one. Waits for its end."""
    deadline = time.monotonic() + _END_SECONDS
    while _told(folder).exists() and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    try:
        return float((folder / "spent").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return 0.0


def _told(folder: Path) -> Path:
    return folder / "told.json"


def _have_it_kept(folder: Path) -> None:
    log = folder / "log"
    with log.open("wb") as output:
        command = [sys.executable, "-m", "tests.shared_rocketmq", str(folder)]
        # Not of the terminal's group: those who use it end first when Ctrl-C is pressed.
        keeper = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=_ROOT, start_new_session=True
        )
    _KEEPERS.append(keeper)
    deadline = time.monotonic() + START_SECONDS
    while not _told(folder).exists():
        if keeper.poll() is not None or time.monotonic() > deadline:
            keeper.kill()
            raise RocketMQFailed(f"RocketMQ did not start:\n{log.read_text(encoding='utf-8', errors='replace')}")
        time.sleep(_POLL_SECONDS)


def _keep(folder: Path) -> None:
    # Only who keeps it needs that.
    from rocketconnect_cli.embedded import EmbeddedRocketMQ

    with tempfile.TemporaryDirectory(prefix="rocketconnect-rocketmq-") as data, (folder / "users").open("w") as users:
        server = EmbeddedRocketMQ(Path(data))
        server.start()
        told = {"name_server": server.name_server, "broker": server.broker, "jars": str(server.jars)}
        unfinished = folder / "telling"
        unfinished.write_text(json.dumps(told), encoding="utf-8")
        unfinished.rename(_told(folder))
        fcntl.flock(users, fcntl.LOCK_EX)
        # What it stored goes with the folder, so there is nothing to close.
        server.kill()
        (folder / "spent").write_text(str(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])), encoding="utf-8")
        _told(folder).unlink()


if __name__ == "__main__":
    _keep(Path(sys.argv[1]))
