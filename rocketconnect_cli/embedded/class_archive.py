"""RocketMQ's classes as Java has read and checked them, in a file: with it a broker starts with two thirds of the work.

Java calls it a dynamic archive of class data (JEP 350). It belongs to one Java and to these very jars, whose times and sizes Java
compares; it leaves any other aside and reads the classes itself.
"""

import hashlib
from pathlib import Path


def archive_of(java: Path, jars: Path) -> Path:
    """Return where the archive of these jars for this Java is or would be: beside their folder."""
    program = java.resolve()
    # Layers of images keep whole seconds.
    known = sorted((each.name, int((found := each.stat()).st_mtime), found.st_size) for each in (program, *jars.glob("*.jar")))
    digest = hashlib.sha256(repr((str(program), str(jars.resolve()), known)).encode()).hexdigest()[:12]
    return jars.with_name(f"{jars.name}-classes") / f"{digest}.jsa"


def java_options(java: Path, jars: Path) -> list[str]:
    """Return the options with which Java uses the archive; none where there is none."""
    archive = archive_of(java, jars)
    return [f"-XX:SharedArchiveFile={archive}"] if archive.is_file() else []
