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
class Form:
    """What is sent of a file.

    Attributes:
        content: The bytes.
        etag: Their name, which no others have.
    """

    content: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class File:
    """One of them.

    Attributes:
        kind: Its content type.
        plain: As it was built.
        packed: The same in gzip.
    """

    kind: str
    plain: Form
    packed: Form


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
    return File(_KINDS[path.suffix], _form(plain), _form(gzip.compress(plain, mtime=0)))


def _form(content: bytes) -> Form:
    return Form(content, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
