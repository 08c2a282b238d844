"""Makes the archive of Spark's classes, by starting Spark once: `python -m services.executor.make_class_archive FOLDER`."""

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from services.executor.runtime.sink.spark.class_archive import archive_in, jars_folder
from services.executor.runtime.sink.spark.session import JAVA_OPTIONS, make_session, run_first_jobs

if TYPE_CHECKING:
    import subprocess


_OF = ".of"
"""Ends the name of a link that has the name of an archive: it leads to the jars that the archive is of."""
_END_SECONDS = 120.0
"""How long Java may take to write it when it ends (invariant 8): some seconds."""


def make(archive: Path) -> None:
    """Start Spark, run what sinks run, and end it: then Java writes the archive.

    Those of the same Java and pyspark before they were installed anew are taken away, and those of installations that are gone:
    nothing can use them any more.

    Raises:
        OSError: the archive can't be written, or Java has not written it.
        subprocess.TimeoutExpired: Java does not end.
    """
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
    link = archive.with_suffix(_OF)
    for outdated in archive.parent.glob(f"{archive.stem.rpartition('-')[0]}-*"):
        if outdated != archive:
            outdated.unlink(missing_ok=True)
    if (jars := jars_folder()) is not None:
        link.symlink_to(jars)
    forget_gone(archive.parent)


def forget_gone(folder: Path) -> None:
    """Takes the archives of a folder away whose pyspark is not there any more."""
    for link in folder.glob(f"*{_OF}"):
        if not link.exists():
            for path in (*folder.glob(f"{link.stem.rpartition('-')[0]}-*.jsa"), link):
                path.unlink(missing_ok=True)


def main() -> int:
    """Make it if it is not there; return the exit code."""
    archive = archive_in(Path(sys.argv[1]))
    if archive is not None and not archive.exists():
        make(archive)
    return 0


if __name__ == "__main__":
    sys.exit(main())
