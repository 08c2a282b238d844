"""Short names of classes, as Kafka Connect takes them: RegexRouter, String for StringConverter. Starts no Java."""

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

_CLASS = ".class"


def candidates(given: str, ending: str, jars: Iterable[Path]) -> list[str]:
    """The whole names of classes that a short one may stand for, by name, also of kinds that are not meant.

    Args:
        given: The last part of a name, also of a class within a class, InsertField$Value; its ending may be left out.
        ending: Of the kind that is meant: Converter, Transformation.
        jars: Where they are.
    """
    wanted = {given, given + ending}
    return sorted({name for jar in jars for name in classes(jar) if wanted & set(_short(name))})


def classes(jar: Path) -> Iterator[str]:
    """The whole names of the classes of a jar."""
    with zipfile.ZipFile(jar) as archive:
        for entry in archive.namelist():
            # Of a jar for several versions of Java the classes are there a second time.
            if entry.endswith(_CLASS) and not entry.startswith("META-INF/"):
                yield entry.removesuffix(_CLASS).replace("/", ".")


def _short(name: str) -> tuple[str, str]:
    last = name.rpartition(".")[2]
    return last, last.rpartition("$")[2]
