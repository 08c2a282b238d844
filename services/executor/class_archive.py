"""Spark's classes as Java has read and checked them, in a file: with it a Spark driver starts with half the work.

Java calls it a dynamic archive of class data (JEP 350). It belongs to one Java and one installation of pyspark (Java compares
the times and sizes of all jars); for any other, and where Spark's class path was changed, Java leaves it aside and reads its
classes itself.

`python -m services.executor.class_archive FOLDER` makes it in a folder, by starting Spark once, if it is not there.
"""

import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

_END_SECONDS = 120.0
"""How long Java may take to write it when it ends (invariant 8): some seconds."""


def archive_in(folder: Path) -> Path | None:
    """Return where the archive that fits the Java and the pyspark of this process is or would be; None: one of them is missing."""
    java = shutil.which("java", path=f"{home}/bin" if (home := os.environ.get("JAVA_HOME")) else None)
    spec = importlib.util.find_spec("pyspark")
    if java is None or spec is None or spec.origin is None:
        return None
    program = Path(java).resolve()
    jars = Path(spec.origin).with_name("jars").glob("*.jar")
    state = sorted((each.name, (found := each.stat()).st_mtime_ns, found.st_size) for each in (program, *jars))
    return folder / f"spark-{version('pyspark')}-{_digest((str(program), spec.origin))}-{_digest(state)}.jsa"


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


def make(archive: Path) -> None:
    """Start Spark, run what sinks run, and end it: then Java writes the archive.

    Those of the same Java and pyspark before they were installed anew are taken away: nothing can use them any more.

    Raises:
        OSError: the archive can't be written, or Java has not written it.
        subprocess.TimeoutExpired: Java does not end.
    """
    from services.executor.runtime.spark_session import JAVA_OPTIONS, make_session, run_first_jobs

    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix="new-") as folder:
        made = Path(folder, archive.name)
        session = make_session({JAVA_OPTIONS: f"-Xlog:disable -XX:ArchiveClassesAtExit={made}", "spark.log.level": "ERROR"})
        run_first_jobs(session)
        gateway = session.sparkContext._gateway  # noqa: SLF001 - the only place where pyspark keeps it
        java: subprocess.Popen[bytes] = gateway.proc  # type: ignore[union-attr]
        session.stop()
        gateway.shutdown()  # type: ignore[union-attr]
        if java.stdin is not None:
            java.stdin.close()
        java.wait(_END_SECONDS)
        made.rename(archive)
    for outdated in archive.parent.glob(f"{archive.stem.rpartition('-')[0]}-*{archive.suffix}"):
        if outdated != archive:
            outdated.unlink(missing_ok=True)


def main() -> int:
    """Make it if it is not there; return the exit code."""
    archive = archive_in(Path(sys.argv[1]))
    if archive is not None and not archive.exists():
        make(archive)
    return 0


if __name__ == "__main__":
    sys.exit(main())
