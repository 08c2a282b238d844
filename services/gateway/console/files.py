"""The files of the console as they were built, in memory: nothing of a request is ever made into a path."""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

BUILT = Path(__file__).parent / "built"
PAGE = "index.html"
_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""What is served, and as what."""


@dataclass(frozen=True, slots=True)
class File:
    """One of them.

    Attributes:
        kind: Its content type.
        plain: Its bytes.
        packed: The same in gzip.
    """

    kind: str
    plain: bytes
    packed: bytes

    def etag(self, *, packed: bool) -> str:
        """Return the name of one of its two forms, which no other content has."""
        return f'"{hashlib.sha256(self.packed if packed else self.plain).hexdigest()[:32]}"'


def read(folder: Path) -> Mapping[str, File]:
    """Return the page (`index.html`) and what it loads, by name; empty: the console is not built here.

    Args:
        folder: What the build has left: the page, and beside it a folder `console`.
    """
    loaded = folder / "console"
    if not ((folder / PAGE).is_file() and loaded.is_dir()):
        return {}
    found = [folder / PAGE, *(path for path in loaded.iterdir() if path.suffix in _KINDS)]
    return {path.name: _file(path) for path in found}


def _file(path: Path) -> File:
    plain = path.read_bytes()
    return File(_KINDS[path.suffix], plain, gzip.compress(plain, mtime=0))
