"""What a diagnosis has so far: files in memory, bounded and without secrets, and what could not be asked.

Nothing is on the disk until `save`, so whatever ends the command leaves nothing behind.
"""

import json
import os
import tempfile
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.diagnosis.hiding import Hider
from rocketconnect_sdk.wording.counts import counted

MEMBER_BYTES = 1 << 20
"""Of a longer file the first part is kept, of a log the last."""
MOST_BYTES = 48 << 20
"""Of all files together, before they are compressed."""


@dataclass(slots=True)
class Bundle:
    """The files of one diagnosis. Not for several threads at once.

    Attributes:
        deadline: When the time is over, of `time.monotonic`.
        hider: Takes secrets out of all files.
        files: By name, without secrets.
        missing: What is not there, and why.
        seen: What somebody should look at first, a line each.
    """

    deadline: float
    hider: Hider = field(default_factory=Hider)
    files: dict[str, str] = field(default_factory=dict)
    missing: list[tuple[str, str]] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    _bytes: int = 0

    @property
    def left(self) -> float:
        """The seconds that are left; 0: none."""
        return max(0.0, self.deadline - time.monotonic())

    def miss(self, what: str, why: str) -> None:
        """Tell that something is not there."""
        self.missing.append((what, self.hider.text(" ".join(why.split()))[:1000]))

    def see(self, line: str) -> None:
        """Tell what somebody should look at first."""
        self.seen.append(self.hider.text(" ".join(line.split()))[:1000])

    def text(self, name: str, text: str, *, newest: bool = False) -> None:
        """Add a text; of one that is too long its beginning, or its newest end."""
        # Cut behind that: half of a secret is found no more.
        self._add(name, _kept(self.hider.text(text), name, newest=newest))

    def document(self, name: str, document: Any) -> None:
        """Add a document as JSON. What is longer than a member is cut, and is no JSON then."""
        self._add(name, _kept(json.dumps(self.hider.document(document), indent=1, default=str) + "\n", name, newest=False))

    def summary(self, text: str) -> None:
        """Add what is to be read first; it has room whatever the others take."""
        self.files["summary.md"] = _kept(self.hider.text(text), "summary.md", newest=False)

    def save(self, file: Path, *, over: bool) -> int:
        """Write all of it into a ZIP file that only its owner can read, whole or not at all; return its bytes.

        Raises:
            ApiError: CONFLICT: the file is there, and is not to be written over; FAILED: it can't be written.
        """
        try:
            number, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.absolute().parent)
        except OSError as error:
            raise _unwritable(file, error) from None
        part = Path(name)
        try:
            with os.fdopen(number, "wb") as opened, zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED) as target:
                for member, text in sorted(self.files.items()):
                    target.writestr(f"{file.stem}/{member}", text.encode("utf-8", "backslashreplace"))
            size = part.stat().st_size
            if over:
                part.replace(file)
            else:
                # Unlike a rename it never takes the place of another one.
                os.link(part, file)
        except FileExistsError:
            raise _taken(file) from None
        except OSError as error:
            raise _unwritable(file, error) from None
        finally:
            part.unlink(missing_ok=True)
        return size

    def _add(self, name: str, text: str) -> None:
        size = len(text.encode("utf-8", "backslashreplace"))
        if self._bytes + size > MOST_BYTES:
            self.miss(name, f"all files together may have {MOST_BYTES >> 20} MiB, and it would be more")
            return
        self._bytes += size
        self.files[name] = text


def check_place(file: Path, *, over: bool) -> None:
    """Say at once what would be said at the end.

    Raises:
        ApiError: CONFLICT: the file is there, and is not to be written over; FAILED: nothing can be written there.
    """
    if file.exists() and not over:
        raise _taken(file)
    try:
        with tempfile.TemporaryFile(dir=file.absolute().parent):
            pass
    except OSError as error:
        raise _unwritable(file, error) from None


def _taken(file: Path) -> ApiError:
    return ApiError(Exit.CONFLICT, {"detail": f"{file} is there already. Give another name, or --overwrite."})


def _kept(text: str, name: str, *, newest: bool) -> str:
    if len(text) <= MEMBER_BYTES:
        return text
    left_out = len(text) - MEMBER_BYTES
    if newest:
        return (
            f"... {counted(left_out, 'character')} before this were left out of {name}\n" + text[-MEMBER_BYTES:].partition("\n")[2]
        )
    return text[:MEMBER_BYTES] + f"\n... {counted(left_out, 'character')} behind this were left out of {name}\n"


def _unwritable(file: Path, error: OSError) -> ApiError:
    return ApiError(Exit.FAILED, {"detail": f"{file} can't be written: {error.strerror or error}. Nothing was changed."})
