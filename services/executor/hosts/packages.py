"""The packages that plugins come from, as they were when the executor last looked for plugins.

Hosts load them from copies. So who installs another version changes nothing for what runs, though its modules may be imported late,
and Spark may start another Python worker; and nothing begins with what is installed by half. What the packages need of others, and
what was installed without a list of its files or in editable mode, is loaded where it is.
"""

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import invalidate_caches
from importlib.metadata import entry_points
from pathlib import Path, PurePath
from typing import NamedTuple

from rocketconnect_sdk.plugins.loader import GROUPS

_NOT_THEIRS = sys.stdlib_module_names | {
    "connectors",
    "rocketconnect",
    "rocketconnect_cli",
    "rocketconnect_kit",
    "rocketconnect_sdk",
    "rocketmq_native",
    "rocketmq_remoting",
    "services",
}
"""Modules that stay what they are: copies come before all else where hosts look for modules."""


class _File(NamedTuple):
    target: PurePath
    source: Path
    size: int
    changed_ns: int


def copied(root: Path) -> Path | None:
    """Copy the packages that offer plugins now into a folder below a root; return that folder, or None when there are none.

    What is there already is not copied again. Not to be called twice at a time.

    Raises:
        OSError: they could not be copied.
    """
    invalidate_caches()
    files = sorted(set(_files()))
    if not files:
        return None
    known = repr([(str(file.target), file.size, file.changed_ns) for file in files])
    folder = root / f"plugins-{hashlib.sha256(known.encode()).hexdigest()[:16]}"
    if not folder.exists():
        part = Path(tempfile.mkdtemp(prefix="copying-", dir=root))
        try:
            for file in files:
                target = part / file.target
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file.source, target)
            part.rename(folder)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
    return folder


def _files() -> Iterator[_File]:
    offers = entry_points()
    packages = {entry.dist.name: entry.dist for group in GROUPS for entry in offers.select(group=group) if entry.dist}
    for package in packages.values():
        for file in package.files or ():
            source = Path(str(file.locate()))
            is_module = ".." not in file.parts and file.parts[0].partition(".")[0] not in _NOT_THEIRS
            # Python makes the compiled ones anew.
            if is_module and file.suffix != ".pyc" and source.is_file():
                stat = source.stat()
                yield _File(PurePath(file), source, stat.st_size, stat.st_mtime_ns)
