"""A program whose log logrotate rotates."""

import subprocess
from pathlib import Path


class Rotating:
    """A log that logrotate rotates by some of its words."""

    def __init__(self, folder: Path, *words: str) -> None:
        folder.mkdir()
        self.path = folder / "app.log"
        self._keeps = "copytruncate" in words
        self._config = folder.with_suffix(".conf")
        self._state = folder.with_suffix(".state")
        lines = "".join(f"  {word}\n" for word in ("rotate 1000", "nodateext", "missingok", "su root root", *words))
        self._config.write_text(f"{self.path} {{\n{lines}}}\n")
        self._config.chmod(0o600)
        self._file = self.path.open("ab", buffering=0)

    def write(self, text: str) -> None:
        self._file.write(text.encode())

    def rotate(self) -> None:
        subprocess.run(["logrotate", "--force", "--state", self._state, self._config], check=True, timeout=60)

    def reopen(self) -> None:
        """What a program does that is told that its log was rotated; it writes into the old one until then."""
        if not self._keeps:
            self._file.close()
            self._file = self.path.open("ab", buffering=0)

    def close(self) -> None:
        self._file.close()
