"""The file of a backup: a ZIP with a manifest, and a member of JSON lines for each table.

A member is named SERVICE/TABLE.jsonl. Each line is a row: a list of the values of the columns that the manifest names, where bytes
are {"base64": "..."}. The manifest is written last and tells the SHA-256 of each member, so a file that was cut off or changed is
refused.
"""

import base64
import hashlib
import json
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.backups.endpoints import ORDER
from rocketconnect_sdk.files.manifest import sync
from rocketconnect_sdk.wording.counts import counted

FORMAT = 1
_MANIFEST = "manifest.json"
_LONGEST_MANIFEST = 1 << 20
_CHUNK = 1 << 20
_BASE64 = "base64"
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    RuntimeError,
    OverflowError,
    OSError,
)
"""What reading a file that is none of ours, or was changed, can raise."""


@dataclass(frozen=True, slots=True)
class Table:
    """What the manifest says of a table."""

    columns: tuple[str, ...]
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Store:
    """What the manifest says of the store of a service.

    Attributes:
        revision: Of its tables.
        kind: sqlite or postgresql.
        point: Stores with the same number were read at one point; a lower number was read before a higher one.
        tables: By name.
    """

    revision: str
    kind: str
    point: int
    tables: dict[str, Table] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is in a backup.

    Attributes:
        version: Of the RocketConnect that made it.
        time: When, in UTC, as ISO 8601 has it.
        stores: By the name of the service.
    """

    version: str
    time: str
    stores: dict[str, Store] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As it is written."""
        stores = {
            service: {
                "revision": store.revision,
                "kind": store.kind,
                "point": store.point,
                "tables": {
                    name: {"columns": list(table.columns), "rows": table.rows, "sha256": table.sha256}
                    for name, table in store.tables.items()
                },
            }
            for service, store in self.stores.items()
        }
        return {"format": FORMAT, "rocketconnect": self.version, "time": self.time, "stores": stores}

    @classmethod
    def from_json(cls, form: dict[str, Any]) -> "Manifest":
        """From what `to_json` gave.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it is none.
        """
        stores = {
            service: Store(
                str(store["revision"]),
                str(store["kind"]),
                int(store["point"]),
                {
                    name: Table(tuple(map(str, table["columns"])), int(table["rows"]), str(table["sha256"]))
                    for name, table in store["tables"].items()
                },
            )
            for service, store in form["stores"].items()
        }
        if not stores or not stores.keys() <= set(ORDER):
            msg = "it has no stores"
            raise ValueError(msg)
        return cls(str(form["rocketconnect"]), str(form["time"]), stores)


class Writer:
    """Writes the members of a new file."""

    def __init__(self, target: zipfile.ZipFile, manifest: Manifest) -> None:
        self._target = target
        self.manifest = manifest

    def table(self, service: str, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Write all rows of a table of a store that the manifest has."""
        digest, count = hashlib.sha256(), 0
        with self._target.open(zipfile.ZipInfo(f"{service}/{name}.jsonl"), "w", force_zip64=True) as member:
            for row in rows:
                line = json.dumps([_told(value) for value in row], separators=(",", ":")).encode() + b"\n"
                digest.update(line)
                member.write(line)
                count += 1
        self.manifest.stores[service].tables[name] = Table(tuple(columns), count, digest.hexdigest())


@contextmanager
def writing(file: Path, manifest: Manifest, *, over: bool) -> Iterator[Writer]:
    """A new file that only its owner can read; it is there, whole and on disk, when the block has ended without an exception.

    Raises:
        ApiError: CONFLICT: there is one of that name, and it is not to be written over; FAILED: it can't be written.
    """
    if not over:
        _refuse_existing(file)
    try:
        number, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.absolute().parent)
    except OSError as error:
        raise _unwritable(file, error) from None
    part = Path(name)
    try:
        with os.fdopen(number, "wb") as opened:
            with zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED) as target:
                # The compression of members is that of their own headers.
                target.compresslevel = 6
                writer = Writer(target, manifest)
                yield writer
                target.writestr(_MANIFEST, json.dumps(manifest.to_json(), indent=1))
            opened.flush()
            os.fsync(opened.fileno())
        if over:
            part.replace(file)
        else:
            # Unlike a rename it never takes the place of another one.
            os.link(part, file)
        sync(file.absolute().parent)
    except FileExistsError:
        _refuse_existing(file)
        raise
    except OSError as error:
        raise _unwritable(file, error) from None
    finally:
        part.unlink(missing_ok=True)


class Reader:
    """Reads a file of a backup; nothing of it is unpacked to a disk.

    Attributes:
        manifest: What is in it.
    """

    def __init__(self, file: Path, source: zipfile.ZipFile, manifest: Manifest) -> None:
        self._file = file
        self._source = source
        self.manifest = manifest

    def check(self) -> None:
        """Read all of it.

        Raises:
            ApiError: WRONG: something was changed, or is missing.
        """
        with _undamaged(self._file):
            names = {f"{service}/{name}.jsonl" for service, store in self.manifest.stores.items() for name in store.tables}
            if sorted(self._source.namelist()) != sorted({*names, _MANIFEST}):
                msg = "its members are not those of its manifest"
                raise ValueError(msg)
            for service, store in self.manifest.stores.items():
                for name, table in store.tables.items():
                    digest = hashlib.sha256()
                    with self._source.open(f"{service}/{name}.jsonl") as member:
                        while chunk := member.read(_CHUNK):
                            digest.update(chunk)
                    if digest.hexdigest() != table.sha256:
                        msg = f"the digest of {service}/{name} is not that of the manifest"
                        raise ValueError(msg)
                    if sum(1 for _ in self._lines(service, name)) != table.rows:
                        msg = f"{service}/{name} has not the {counted(table.rows, 'row')} that the manifest tells"
                        raise ValueError(msg)

    def rows(self, service: str, name: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table, by column; none where the file has no such table.

        Raises:
            ApiError: WRONG: it is damaged.
        """
        store = self.manifest.stores.get(service)
        if store is None or name not in store.tables:
            return
        with _undamaged(self._file):
            columns = store.tables[name].columns
            for row in self._lines(service, name):
                yield dict(zip(columns, row, strict=True))

    def _lines(self, service: str, name: str) -> Iterator[list[Any]]:
        width = len(self.manifest.stores[service].tables[name].columns)
        with self._source.open(f"{service}/{name}.jsonl") as member:
            for line in member:
                row = json.loads(line)
                if not isinstance(row, list) or len(row) != width:
                    msg = f"a row of {service}/{name} has not {counted(width, 'value')}"
                    raise ValueError(msg)
                yield [_meant(value) for value in row]


@contextmanager
def reading(file: Path) -> Iterator[Reader]:
    """A file of a backup, whose manifest was read; `Reader.check` reads the rest.

    Raises:
        ApiError: NOT_FOUND: there is none; WRONG: it is no backup, is damaged, or has a form that a later version has made.
    """
    try:
        opened = file.open("rb")
    except OSError as error:
        code = Exit.NOT_FOUND if isinstance(error, FileNotFoundError) else Exit.FAILED
        raise ApiError(code, {"detail": f"{file} can't be read: {error.strerror}. Nothing was changed."}) from None
    with opened:
        with _undamaged(file):
            source = zipfile.ZipFile(opened)
            form = _manifest(source)
        if form["format"] > FORMAT:
            message = (
                f"{file} was made by RocketConnect {form.get('rocketconnect')} in form {form['format']}, and this version "
                f"reads forms up to {FORMAT}: restore it with that version or a later one. Nothing was changed."
            )
            raise ApiError(Exit.WRONG, {"detail": message})
        with _undamaged(file):
            manifest = Manifest.from_json(form)
        yield Reader(file, source, manifest)


def _manifest(source: zipfile.ZipFile) -> dict[str, Any]:
    with source.open(_MANIFEST) as member:
        text = member.read(_LONGEST_MANIFEST + 1)
    if len(text) > _LONGEST_MANIFEST:
        msg = "its manifest is too long"
        raise ValueError(msg)
    form = json.loads(text)
    if not isinstance(form, dict) or not isinstance(form.get("format"), int) or form["format"] < 1:
        msg = "it has no manifest of a backup"
        raise ValueError(msg)
    return form


@contextmanager
def _undamaged(file: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        said = str(error).strip("'\"") or type(error).__name__
        message = f"{file} is no backup of RocketConnect, or it was damaged: {said}. Take another copy of it. Nothing was changed."
        raise ApiError(Exit.WRONG, {"detail": message}) from None


def _told(value: Any) -> Any:
    return {_BASE64: base64.b64encode(value).decode()} if isinstance(value, bytes | memoryview) else value


def _meant(value: Any) -> Any:
    return base64.b64decode(value[_BASE64], validate=True) if isinstance(value, dict) else value


def _refuse_existing(file: Path) -> None:
    if file.exists():
        message = f"{file} is there already. Give another name, or --overwrite."
        raise ApiError(Exit.CONFLICT, {"detail": message})


def _unwritable(file: Path, error: OSError) -> ApiError:
    return ApiError(Exit.FAILED, {"detail": f"{file} can't be written: {error.strerror or error}. Nothing was changed."})
