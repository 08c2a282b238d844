"""Spark's classes as Java has read and checked them, in a file: with it a Spark driver starts with half the work.

Java calls it a dynamic archive of class data (JEP 350). It belongs to one Java and one installation of pyspark (Java compares
the times and sizes of all jars); for any other, and where Spark's class path was changed, Java leaves it aside and reads its
classes itself.

services.executor.make_class_archive makes it.
"""

import hashlib
import importlib.util
import os
import shutil
from importlib.metadata import version
from pathlib import Path


def archive_in(folder: Path) -> Path | None:
    """Return where the archive that fits the Java and the pyspark of this process is or would be; None: one of them is missing."""
    java = shutil.which("java", path=f"{home}/bin" if (home := os.environ.get("JAVA_HOME")) else None)
    jars = jars_folder()
    if java is None or jars is None:
        return None
    program = Path(java).resolve()
    state = sorted((each.name, (found := each.stat()).st_mtime_ns, found.st_size) for each in (program, *jars.glob("*.jar")))
    return folder / f"spark-{version('pyspark')}-{_digest((str(program), str(jars.with_name('__init__.py'))))}-{_digest(state)}.jsa"


def jars_folder() -> Path | None:
    """Return where the jars of the pyspark of this process are; None: it is not installed."""
    spec = importlib.util.find_spec("pyspark")
    return None if spec is None or spec.origin is None else Path(spec.origin).with_name("jars")


def _digest(known: object) -> str:
    return hashlib.sha256(repr(known).encode()).hexdigest()[:12]


def java_options(folder: Path | None) -> tuple[str, ...]:
    """Return the options with which Java uses the archive of a folder; none where there is no archive.

    What Java has to say of an archive that it can't use goes to standard error.
    """
    archive = archive_in(folder) if folder is not None else None
    if archive is None or not archive.is_file():
        return ()
    return (f"-XX:SharedArchiveFile={archive}", "-Xlog:disable", "-Xlog:all=warning:stderr")
