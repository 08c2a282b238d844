"""Java programs beside this file with another system's converters in them."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rocketconnect_kit.java.find import find_javac

_SOURCES = Path(__file__).parent / "java"
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"


@dataclass(frozen=True)
class Peer:
    """A program, compiled."""

    command: list[str]

    @classmethod
    def compiled(cls, name: str, class_path: str, folder: Path, *, sources: Path | None = None) -> "Peer":
        """Compile it into a folder, with what it needs of others' sources."""
        javac = find_javac().resolve()
        path = ["-sourcepath", f"{_SOURCES}:{sources}" if sources else f"{_SOURCES}"]
        options = ["-nowarn", "-implicit:class", "-encoding", "UTF-8", "-cp", class_path, "-d", str(folder)]
        subprocess.run([javac, *options, *path, _SOURCES / f"{name}.java"], check=True, capture_output=True)
        return cls([str(javac.with_name("java")), "-Xmx128m", _QUIET, "-cp", f"{folder}:{class_path}", name])

    def examples(self) -> list[dict[str, Any]]:
        """Messages of values that the other system has."""
        done = subprocess.run([*self.command, "examples"], stdout=subprocess.PIPE, check=True, timeout=90)
        return [json.loads(line) for line in done.stdout.splitlines()]

    @contextmanager
    def running(self) -> "Iterator[Reader]":
        """Read messages by it."""
        with subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                yield Reader(process.stdin, process.stdout)
            finally:
                process.stdin.close()


@dataclass(frozen=True)
class Reader:
    """The other system's converters at work."""

    questions: IO[bytes]
    answers: IO[bytes]

    def read(self, converter: str, message: bytes) -> Mapping[str, Any]:
        """What one of them has of a message: schema and value; or the error."""
        self.questions.write(f"{converter} {message.hex()}\n".encode())
        self.questions.flush()
        answer: Mapping[str, Any] = json.loads(self.answers.readline())
        return answer


def save(path: Path, origin: str, **examples: list[dict[str, Any]]) -> None:
    """Write a file of recorded messages, one a line."""
    lists = [f"{json.dumps(name)}: [\n{','.join(map(_line, found)).removeprefix(chr(10))}\n]" for name, found in examples.items()]
    path.write_text(f'{{"origin": {json.dumps(origin)},\n{", ".join(lists)}}}\n', encoding="utf-8")


def _line(example: dict[str, Any]) -> str:
    return "\n" + json.dumps(example, ensure_ascii=False, separators=(",", ":"))
