"""The archive of Spark's classes: which one fits, and that Java really uses it."""

import os
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from rocketconnect_cli.embedded.spark import spark_folder
from services.executor.make_class_archive import forget_gone
from services.executor.runtime.sink.spark.class_archive import archive_in, java_options

_USE = """
import sys
from pathlib import Path
from services.executor.runtime.sink.spark.session import make_session
session = make_session({}, Path(sys.argv[1]))
java = session.sparkContext._gateway.proc.pid
maps = {Path(line.split()[-1]).name for line in Path(f"/proc/{java}/maps").read_text().splitlines() if line.endswith(".jsa")}
print(*maps)
"""


def _java(folder: Path) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return folder


def test_each_java_has_an_archive_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for name in ("one", "other"):
        monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / name)))
        found.append(archive_in(tmp_path))
    assert None not in found
    assert len(set(found)) == 2


def test_without_java_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert archive_in(tmp_path) is None
    assert java_options(tmp_path) == ()


def test_java_is_told_of_an_archive_that_is_there_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "java")))
    archive = archive_in(tmp_path)
    assert archive is not None
    assert java_options(None) == java_options(tmp_path) == ()
    archive.touch()
    assert java_options(tmp_path)[0] == f"-XX:SharedArchiveFile={archive}"


def test_pyspark_that_was_installed_anew_has_another_archive_of_the_same_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "java")))
    jar = tmp_path / "pyspark" / "jars" / "spark.jar"
    jar.parent.mkdir(parents=True)
    jar.touch()
    (tmp_path / "pyspark" / "__init__.py").touch()
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda _name: ModuleSpec("pyspark", None, origin=f"{tmp_path}/pyspark/__init__.py")
    )
    before = archive_in(tmp_path)
    os.utime(jar, (1, 1))
    after = archive_in(tmp_path)
    assert before is not None
    assert after is not None
    assert before != after
    assert before.stem.split("-")[:-1] == after.stem.split("-")[:-1]


@pytest.mark.slow
def test_archives_of_installations_that_are_gone_are_taken_away(tmp_path: Path) -> None:
    gone, here = tmp_path / "gone", tmp_path / "here"
    here.mkdir()
    for name, jars in (("spark-4.1.4-aaa-111", gone), ("spark-4.1.4-bbb-222", here)):
        (tmp_path / f"{name}.jsa").touch()
        (tmp_path / f"{name}.of").symlink_to(jars)
    forget_gone(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "spark-4.1.4-bbb-222.jsa", "spark-4.1.4-bbb-222.of"]


def test_java_tells_of_an_archive_that_it_cant_use_beside_what_it_prints(tmp_path: Path) -> None:
    archive = archive_in(tmp_path)
    assert archive is not None
    archive.write_bytes(b"this is none")
    done = subprocess.run(["java", *java_options(tmp_path), "-version"], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == ""


@pytest.mark.slow
def test_a_driver_reads_its_classes_from_the_archive_that_the_set_up_has_made() -> None:
    archive = archive_in(spark_folder())
    assert archive is not None
    assert archive.is_file()
    used = subprocess.run(
        [sys.executable, "-c", _USE, str(spark_folder())], capture_output=True, text=True, check=True, timeout=300
    ).stdout
    assert archive.name in used.split()
