"""Jars of a system: resolved once by their coordinates, checked against a committed list, then cached for the user."""

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

from rocketconnect_kit.java.errors import JarsUnavailable
from rocketconnect_kit.java.find import find_java
from rocketconnect_kit.java.ivy import REPOSITORY_VARIABLE, Coordinates, download

_LOCK_DEADLINE_SECONDS = 900

OnProgress = Callable[[int, int], None]
"""Called with the number of jars that are there and the number wanted."""


@dataclass(frozen=True, slots=True)
class JarSet:
    """Jars that run a system together.

    Attributes:
        title: The system and its version, for people.
        listing: The committed list; its name without `.jars` is the folder in the cache.
        size: How much there is to download, for people.
        variable: The environment variable that names a folder to use instead.
        needed: Patterns of files without which such a folder is of no use.
    """

    title: str
    listing: Traversable
    size: str
    variable: str
    needed: tuple[str, ...]

    @property
    def pinned(self) -> dict[Coordinates, str]:
        """The coordinates of each jar and the SHA-256 of its content."""
        lines = self.listing.read_text(encoding="utf-8").splitlines()
        pairs = (line.split() for line in lines if not line.startswith("#"))
        return {Coordinates(*coordinates.split(":")): digest for coordinates, digest in pairs}


def listed(title: str, listing: Path) -> JarSet:
    """The jars of a committed list: of "delta-4.4.0.jars" the variable that names another folder is ROCKETCONNECT_DELTA_JARS."""
    variable = f"ROCKETCONNECT_{listing.stem.rpartition('-')[0].upper().replace('-', '_')}_JARS"
    return JarSet(title, listing, "some MB", variable, ())


def jars_of(
    wanted: JarSet, on_progress: OnProgress = lambda _done, _total: None, environment: Mapping[str, str] = os.environ
) -> Path:
    """Return the folder with these jars; download them first when they are not in the cache.

    Safe to call from several processes at once: one downloads, the others wait for it. A download that was interrupted
    is continued by the next call. Raises JarsUnavailable, whose text says what to do.
    """
    if given := environment.get(wanted.variable):
        return _given(wanted, Path(given))
    folder = cache_folder(environment) / wanted.listing.name.removesuffix(".jars")
    pinned = wanted.pinned
    if _complete(folder, pinned):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _only_one(folder.with_suffix(folder.suffix + ".lock")):
        if not _complete(folder, pinned):
            _fill(wanted, folder, pinned, on_progress)
    return folder


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where RocketConnect keeps what it downloaded for this user."""
    base = environment.get("XDG_CACHE_HOME", "")
    # The XDG specification: a relative path is invalid and ignored.
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "rocketconnect"


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _given(wanted: JarSet, folder: Path) -> Path:
    missing = [pattern for pattern in wanted.needed if not any(folder.glob(pattern))]
    if missing:
        found = f"no {' and no '.join(missing)} there"
        message = f"{wanted.variable}={folder}: {found}; it must name a folder with the jars of {wanted.title}"
        raise JarsUnavailable(message)
    return folder


def _complete(folder: Path, pinned: Mapping[Coordinates, str]) -> bool:
    # The folder appears by one rename after every checksum was right, so the names are enough from then on.
    return folder.is_dir() and {jar.file_name for jar in pinned} <= {file.name for file in folder.iterdir()}


def _fill(wanted: JarSet, folder: Path, pinned: Mapping[Coordinates, str], on_progress: OnProgress) -> None:
    work = folder.with_suffix(folder.suffix + ".partial")
    done = sum(1 for _ in work.glob("cache/**/*.jar"))
    on_progress(done, len(pinned))

    def one_more() -> None:
        nonlocal done
        done += 1
        on_progress(done, len(pinned))

    try:
        fetched = download(pinned, work, java=find_java(), on_jar=one_more)
    except JarsUnavailable as err:
        message = (
            f"{wanted.title} could not be downloaded ({len(pinned)} jars, {wanted.size}, listed in "
            f"{wanted.listing}). Run this again with access to a Maven repository "
            f"(a mirror: {REPOSITORY_VARIABLE}=URL), or put the jars into a folder by hand and set "
            f"{wanted.variable}=FOLDER. The download said:\n{err}"
        )
        raise JarsUnavailable(message) from err
    _verify(wanted, fetched, work)
    if folder.exists():
        shutil.rmtree(folder)
    fetched.rename(folder)
    shutil.rmtree(work)


def _verify(wanted: JarSet, fetched: Path, work: Path) -> None:
    wrong = [str(jar) for jar, digest in wanted.pinned.items() if sha256(fetched / jar.file_name) != digest]
    if wrong:
        # Nothing of it may be used by the next run.
        shutil.rmtree(work)
        message = (
            f"the repository served other content than {wanted.title} had when it was pinned, for "
            f"{', '.join(wrong)}: nothing was kept; check the repository or proxy, then run this again"
        )
        raise JarsUnavailable(message)


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Hold this lock file; the kernel releases it when the holder ends, however it ends."""
    with lock.open("w") as file:
        deadline = time.monotonic() + _LOCK_DEADLINE_SECONDS
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as err:
                if time.monotonic() > deadline:
                    message = f"another process has been downloading for {_LOCK_DEADLINE_SECONDS} s and holds {lock}"
                    raise JarsUnavailable(message) from err
                time.sleep(0.2)
        yield
