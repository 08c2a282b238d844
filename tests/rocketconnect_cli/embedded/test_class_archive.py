"""What lets RocketMQ start with less work, by a real RocketMQ."""

import os
from pathlib import Path

import pytest

from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketconnect_cli.embedded.class_archive import archive_of, java_options
from rocketconnect_cli.embedded.make_class_archive import make
from rocketconnect_cli.embedded.rocketmq import BROKER, NAME_SERVER
from rocketconnect_cli.embedded.rocketmq_jars import rocketmq_jars
from rocketconnect_kit.java.find import find_java


def test_an_archive_belongs_to_one_java_and_to_these_very_jars(tmp_path: Path) -> None:
    jars = tmp_path / "rocketmq-1"
    jars.mkdir()
    (jars / "a.jar").write_bytes(b"a")
    java = tmp_path / "java"
    java.write_bytes(b"java")
    first = archive_of(java, jars)
    assert first.parent == tmp_path / "rocketmq-1-classes"
    assert java_options(java, jars) == []
    first.parent.mkdir()
    first.touch()
    assert java_options(java, jars) == [f"-XX:SharedArchiveFile={first}"]
    (jars / "a.jar").write_bytes(b"another")
    assert archive_of(java, jars) != first
    assert java_options(java, jars) == []
    other = tmp_path / "java-of-others"
    other.write_bytes(b"java")
    assert archive_of(other, jars) != archive_of(java, jars)


@pytest.mark.slow
@pytest.mark.rocketmq
def test_an_archive_is_made_once_and_is_what_rocketmq_then_starts_with(tmp_path: Path) -> None:
    jars = tmp_path / "jars"
    jars.mkdir()
    for each in rocketmq_jars().glob("*.jar"):
        os.link(each, jars / each.name) if each.stat().st_dev == tmp_path.stat().st_dev else (jars / each.name).symlink_to(each)
    old = tmp_path / "jars-classes" / "old.jsa"
    old.parent.mkdir()
    old.touch()
    make(jars)
    (archive,) = (tmp_path / "jars-classes").iterdir()
    assert archive == archive_of(find_java(), jars)
    made = archive.stat().st_mtime_ns
    make(jars)
    assert archive.stat().st_mtime_ns == made
    with EmbeddedRocketMQ(tmp_path / "data", jars=jars) as rocketmq:
        for name in (NAME_SERVER, BROKER):
            assert str(archive) in Path(f"/proc/{rocketmq.processes[name].pid}/maps").read_text()
