"""The processes of RocketConnect and RocketMQ on this machine: what they are told, what they use, where they are."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocketconnect_cli.diagnosis.bundle import Bundle
from rocketconnect_cli.diagnosis.hiding import HIDDEN, in_flags, in_urls, sounds_secret
from rocketconnect_cli.diagnosis.tails import tail

ENV_PREFIX = "ROCKETCONNECT_"
MOST_STACKS = 40
_STACK_SECONDS = 10.0
_DATA = f"{ENV_PREFIX}DATA_DIR"
_OURS = re.compile(r"services\.(config|position|state|cluster|executor|gateway|exporter)\b|org\.apache\.rocketmq\.")
_COMMANDS = ("up", "serve")
_FILES = ("ROCKETCONNECT_TOKEN_FILE", "ROCKETCONNECT_KEYSTORE_KEYS")
"""Variables that name files of secrets, which are hidden where this user can read them."""
_FOLDERS = ("PWD", "OLDPWD")
_VARIABLE, _FILE = re.compile(r"\$\{env:([^{}]+)\}"), re.compile(r"\$\{file:([^{}]+)\}")
_MOST_SECRETS = 1 << 16
_STATUS = ("State", "PPid", "Threads", "VmRSS", "VmHWM", "VmSwap", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")
_LIMITS = ("Max open files", "Max processes", "Max address space")


@dataclass(frozen=True, slots=True)
class Process:
    """One process: its id, its environment, its command line."""

    pid: int
    told: Mapping[str, str]
    words: Sequence[str]


class Processes:
    """Those that this user can see.

    Args:
        bundle: Gets what is found.
        data: The data directory: where processes of it run, those of others are none of this.
        environment: Of this process.
    """

    def __init__(self, bundle: Bundle, data: Path, environment: Mapping[str, str]) -> None:
        self._bundle = bundle
        self._environment = environment
        self._found = _chosen(_all(), data.absolute())
        # Before anything is added: what they know as a secret is one everywhere.
        for told in self._environments:
            bundle.hider.know(_secrets(told))
        for process in self._found:
            bundle.hider.know(in_flags(process.words))

    @property
    def _environments(self) -> list[Mapping[str, str]]:
        return [self._environment, *(process.told for process in self._found)]

    def describe(self) -> None:
        """Add what each of them is told and uses."""
        shown = [
            {
                "pid": process.pid,
                **_uses(process.pid),
                "command": self._bundle.hider.words(process.words),
                "settings": settings(process.told),
            }
            for process in self._found
        ]
        self._bundle.document("host/processes.json", shown)
        if not shown:
            self._bundle.miss("processes", "none of RocketConnect runs on this machine, or they belong to another user")

    def stacks(self, tell: Callable[[str], None]) -> None:
        """Add where each Python process is now, by py-spy, which stops none of them; without values of variables."""
        program = shutil.which("py-spy") or shutil.which("py-spy", path=str(Path(sys.executable).parent))
        pythons = [process for process in self._found if "python" in Path(process.words[0]).name]
        if program is None:
            self._bundle.miss("stacks", "py-spy is not on this machine; `pip install py-spy` brings it")
            return
        for process in pythons[MOST_STACKS:]:
            self._bundle.miss(f"stacks of {process.pid}", f"{MOST_STACKS} processes are looked at")
        for process in pythons[:MOST_STACKS]:
            tell(f"stacks of process {process.pid}")
            self._stack(program, process.pid)

    def _stack(self, program: str, pid: int) -> None:
        if not self._bundle.left:
            self._bundle.miss(f"stacks of {pid}", "the time was over; give more with --timeout")
            return
        command = [program, "dump", "--nonblocking", "--pid", str(pid)]
        try:
            seconds = min(_STACK_SECONDS, self._bundle.left)
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            self._bundle.miss(f"stacks of {pid}", str(error))
            return
        if done.returncode:
            self._bundle.miss(f"stacks of {pid}", f"py-spy ended with {done.returncode}: {done.stderr[-500:]}")
        else:
            self._bundle.text(f"stacks/{pid}.txt", done.stdout)

    def referenced(self, config: Mapping[str, str]) -> Iterator[str]:
        """The secrets that a configuration refers to, as far as they are variables of these processes or in files that can be read.

        What Java or a plugin prints may have them, without their names.
        """
        for value in map(str, config.values()):
            for found in _VARIABLE.finditer(value):
                yield from (told.get(found[1], "") for told in self._environments)
            for found in _FILE.finditer(value):
                path, _, _ = found[1].rpartition(":")
                for line in _text_of(path or found[1]).splitlines():
                    yield line.partition("=")[2].strip() or line.strip()


def settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings of RocketConnect in an environment, by variable, without secrets."""
    ours = {name: value for name, value in sorted(environment.items()) if name.startswith(ENV_PREFIX)}
    return {name: HIDDEN if value and sounds_secret(name) else value for name, value in ours.items()}


def _all() -> Iterator[Process]:
    for folder in Path("/proc").glob("[0-9]*"):
        # One that has ended meanwhile, or is somebody else's, is none of ours.
        with suppress(OSError):
            if (words := _parts(folder / "cmdline")) and int(folder.name) != os.getpid():
                told = dict(each.partition("=")[::2] for each in _parts(folder / "environ"))
                yield Process(int(folder.name), told, words)


def _parts(path: Path) -> list[str]:
    return [each for each in path.read_bytes().decode("utf-8", "replace").split("\0") if each]


def _chosen(processes: Iterable[Process], data: Path) -> list[Process]:
    ours = [process for process in processes if _is_ours(process.words)]
    # Those of RocketMQ have no such setting, and name their configuration.
    here = [each for each in ours if each.told.get(_DATA) == str(data) or any(str(data) in word for word in each.words)]
    return sorted(here or ours, key=lambda each: each.pid)


def _is_ours(words: Sequence[str]) -> bool:
    return any(_OURS.search(word) for word in words[:64]) or any(
        Path(word).name == "rocketconnect" and words[at + 1 : at + 2] and words[at + 1] in _COMMANDS
        for at, word in enumerate(words[:3])
    )


def _uses(pid: int) -> dict[str, Any]:
    """What a process uses, as Linux tells it; what it does not tell is left out."""
    folder, used = Path("/proc", str(pid)), dict[str, Any]()
    with suppress(OSError):
        lines = (line.partition(":")[::2] for line in (folder / "status").read_text().splitlines())
        used |= {name: value.strip() for name, value in lines if name in _STATUS}
    with suppress(OSError, ValueError, IndexError):
        # Behind the name, which may have anything in it.
        stat = (folder / "stat").read_text().rpartition(")")[2].split()
        ticks = os.sysconf("SC_CLK_TCK")
        used["processorSeconds"] = (int(stat[11]) + int(stat[12])) / ticks
        used["runsSeconds"] = round(time.clock_gettime(time.CLOCK_BOOTTIME) - int(stat[19]) / ticks, 1)
    with suppress(OSError):
        used["openFiles"] = sum(1 for _ in (folder / "fd").iterdir())
        used["limits"] = [
            " ".join(line.split()) for line in (folder / "limits").read_text().splitlines() if line.startswith(_LIMITS)
        ]
    return used


def _secrets(environment: Mapping[str, str]) -> Iterator[str]:
    """What in an environment is a secret: by its name, in a URL, and in the files that it names."""
    for name, value in environment.items():
        if sounds_secret(name) and name not in _FOLDERS:
            yield value
        yield from in_urls(value)
        if name in _FILES:
            yield from _text_of(value.strip()).split()


def _text_of(path: str) -> str:
    """The first part of a small file; empty: this user can't read it."""
    try:
        return tail(Path(path), _MOST_SECRETS)
    except (OSError, ValueError):
        return ""
