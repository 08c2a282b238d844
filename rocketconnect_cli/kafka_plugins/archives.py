"""The jars of an archive, or of a folder: nothing else of it is taken, and nothing is written anywhere else."""

import gzip
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from rocketconnect_cli.kafka_plugins.errors import PluginRefused
from rocketconnect_kit.java.jars import sha256

ENDINGS = (".zip", ".tar.gz", ".tgz", ".jar")
_MOST_BYTES = 4 << 30
"""Of all jars together, and of all that a tar unpacks to: an archive that unpacks to more is none of connectors."""
_DAMAGED = (OSError, tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, LZMAError, RuntimeError, ValueError)
"""What reading of archives raises: also of those that are encrypted, or packed in a way that is not known here."""


class _Entry(NamedTuple):
    """A file of an archive: its name there, its size, and what opens it; a link has no content."""

    name: str
    size: int
    content: IO[bytes] | None


def take_jars(source: Path, into: Path) -> None:
    """Copies the jars of an archive (zip, tar.gz), of a folder and what is beneath it, or one jar.

    Raises:
        PluginRefused: an entry leaves the archive's folder, two jars of one name differ, it is no archive, or holds no jar.
    """
    left = _MOST_BYTES
    try:
        with _entries(source) as entries:
            for name, size, content in entries:
                path = PurePosixPath(name)
                if path.is_absolute() or ".." in path.parts or "\\" in name:
                    msg = f"{source.name} is refused: its entry {name[:200]!r} leads out of the folder that it is unpacked into"
                    raise PluginRefused(msg)
                if path.suffix != ".jar":
                    continue
                if not name.isprintable():
                    msg = f"{source.name} is refused: the name of its jar {name[:200]!r} has characters that can't be shown"
                    raise PluginRefused(msg)
                if content is None:
                    msg = f"{source.name} is refused: its entry {name[:200]!r} is a link or a device, and a jar has to be a file"
                    raise PluginRefused(msg)
                left -= size
                if left < 0:
                    msg = f"{source.name} is refused: its jars are larger than {_MOST_BYTES >> 30} GiB together"
                    raise PluginRefused(msg)
                _copy(content, into / path.name, source)
    except _DAMAGED as error:
        msg = f"{source} can't be read: {error}. Give a folder, a .zip, a .tar.gz or a .jar"
        raise PluginRefused(msg) from error
    if not any(into.glob("*.jar")):
        msg = f"{source} holds no jar, so it is no plugin of Kafka Connect"
        raise PluginRefused(msg)


def _copy(content: IO[bytes], target: Path, source: Path) -> None:
    work = target.with_suffix(".part")
    with work.open("wb") as file:
        shutil.copyfileobj(content, file, 1 << 20)
    if target.exists() and sha256(target) != sha256(work):
        msg = f"{source.name} is refused: it has two jars that are called {target.name} and differ"
        raise PluginRefused(msg)
    work.rename(target)


@contextmanager
def _entries(source: Path) -> Iterator[Iterator[_Entry]]:
    if source.is_dir():
        yield _of_folder(source)
    elif source.name.endswith((".tar.gz", ".tgz")):
        with gzip.open(source) as unpacked, tarfile.open(fileobj=unpacked, mode="r:") as tar:
            yield _of_tar(tar, unpacked)
    elif source.exists() and not source.is_file():
        msg = f"{source} is refused: it is no file and no folder"
        raise PluginRefused(msg)
    elif source.suffix == ".jar":
        with source.open("rb") as file:
            yield iter([_Entry(source.name, source.stat().st_size, file)])
    else:
        with zipfile.ZipFile(source) as archive:
            yield _of_zip(archive)


def _of_folder(folder: Path) -> Iterator[_Entry]:
    for parent, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(parent, name)
            if path.is_symlink() or not path.is_file():
                yield _Entry(str(path.relative_to(folder)), 0, None)
            elif path.suffix == ".jar":
                with path.open("rb") as file:
                    yield _Entry(str(path.relative_to(folder)), path.stat().st_size, file)


def _of_tar(tar: tarfile.TarFile, unpacked: gzip.GzipFile) -> Iterator[_Entry]:
    for member in tar:
        if member.size < 0:
            msg = f"its entry {member.name[:200]!r} is damaged"
            raise tarfile.ReadError(msg)
        _bounded(member.offset_data + member.size)
        if not member.isdir():
            yield _Entry(member.name, member.size, tar.extractfile(member) if member.isfile() else None)
    # Its checksum stands at the end.
    while unpacked.read(1 << 20):
        _bounded(unpacked.tell())


def _bounded(unpacked: int) -> None:
    if unpacked > _MOST_BYTES:
        msg = f"it unpacks to more than {_MOST_BYTES >> 30} GiB"
        raise tarfile.ReadError(msg)


def _of_zip(archive: zipfile.ZipFile) -> Iterator[_Entry]:
    for info in archive.infolist():
        if info.is_dir():
            continue
        is_link = (info.external_attr >> 16) & 0o170000 == 0o120000
        with archive.open(info) as content:
            yield _Entry(info.filename, info.file_size, None if is_link else content)
