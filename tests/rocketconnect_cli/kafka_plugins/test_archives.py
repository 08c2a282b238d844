"""What is taken of an archive that somebody wants installed as a plugin of Kafka Connect, and what is refused."""

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from rocketconnect_cli.kafka_plugins import archives
from rocketconnect_cli.kafka_plugins.archives import take_jars
from rocketconnect_cli.kafka_plugins.errors import PluginRefused


def zipped(path: Path, entries: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def tarred(path: Path, entries: dict[str, bytes | str]) -> Path:
    """A text is where a link leads."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in entries.items():
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return path


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "into"
    folder.mkdir()
    return folder


def test_jars_are_taken_out_of_the_folders_of_an_archive_and_nothing_else(tmp_path: Path, into: Path) -> None:
    take_jars(zipped(tmp_path / "a.zip", {"x-1.0/lib/a.jar": b"a", "x-1.0/lib/b.jar": b"b", "x-1.0/README.md": b"?"}), into)
    assert {jar.name: jar.read_bytes() for jar in into.iterdir()} == {"a.jar": b"a", "b.jar": b"b"}


def test_a_tar_and_a_folder_give_the_same_jars_as_a_zip(tmp_path: Path, into: Path) -> None:
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    (tmp_path / "folder" / "deep" / "a.jar").write_bytes(b"a")
    take_jars(tmp_path / "folder", into)
    take_jars(tarred(tmp_path / "a.tar.gz", {"deep/a.jar": b"a", "b.jar": b"b"}), into)
    assert sorted(jar.name for jar in into.iterdir()) == ["a.jar", "b.jar"]


@pytest.mark.parametrize("name", ["../evil.jar", "/tmp/evil.jar", "lib/../../evil.jar", "..\\evil.jar", "../evil.txt"])
def test_an_entry_that_leads_out_of_the_folder_is_refused_with_all_of_the_archive(tmp_path: Path, into: Path, name: str) -> None:
    archive = zipped(tmp_path / "a.zip", {name: b"x"})
    with pytest.raises(PluginRefused, match="leads out of the folder"):
        take_jars(archive, into)
    with pytest.raises(PluginRefused, match="leads out of the folder"):
        take_jars(tarred(tmp_path / "a.tar.gz", {name: b"x"}), into)
    assert not list(into.iterdir())
    assert not (tmp_path / "evil.jar").exists()


def test_a_link_in_the_place_of_a_jar_is_refused(tmp_path: Path, into: Path) -> None:
    with pytest.raises(PluginRefused, match="is a link"):
        take_jars(tarred(tmp_path / "a.tar.gz", {"a.jar": "/etc/passwd"}), into)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.jar").symlink_to("/etc/passwd")
    with pytest.raises(PluginRefused, match="is a link"):
        take_jars(tmp_path / "folder", into)


def test_two_jars_of_one_name_that_differ_are_refused(tmp_path: Path, into: Path) -> None:
    take_jars(zipped(tmp_path / "same.zip", {"x/a.jar": b"1", "y/a.jar": b"1"}), into)
    with pytest.raises(PluginRefused, match="two jars that are called"):
        take_jars(zipped(tmp_path / "a.zip", {"x/b.jar": b"1", "y/b.jar": b"2"}), into)


def test_what_holds_no_jar_or_is_no_archive_is_told_so(tmp_path: Path, into: Path) -> None:
    with pytest.raises(PluginRefused, match="holds no jar"):
        take_jars(zipped(tmp_path / "a.zip", {"README.md": b"x"}), into)
    (tmp_path / "b.zip").write_bytes(b"no archive")
    with pytest.raises(PluginRefused, match="can't be read"):
        take_jars(tmp_path / "b.zip", into)
    with pytest.raises(PluginRefused, match="can't be read"):
        take_jars(tmp_path / "nowhere.tar.gz", into)


def test_an_archive_that_is_damaged_encrypted_or_packed_in_an_unknown_way_is_refused_in_words(tmp_path: Path, into: Path) -> None:
    plain = zipped(tmp_path / "a.zip", {"a.jar": b"abc"}).read_bytes()
    directory = plain.index(b"PK\x01\x02")
    for name, at, value in (("encrypted", (6, directory + 8), 1), ("unknown", (8, directory + 10), 97)):
        changed = bytearray(plain)
        for index in at:
            changed[index] = value
        (tmp_path / f"{name}.zip").write_bytes(changed)
    for method, name in ((zipfile.ZIP_DEFLATED, "deflated"), (zipfile.ZIP_LZMA, "lzma")):
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w", method) as archive:
            archive.writestr("a.jar", b"x" * 5000)
        damaged = bytearray((tmp_path / f"{name}.zip").read_bytes())
        damaged[45:55] = b"\xff" * 10
        (tmp_path / f"{name}.zip").write_bytes(damaged)
    torn = bytearray(tarred(tmp_path / "torn.tar.gz", {"a.jar": os.urandom(5000)}).read_bytes())
    torn[1000:1100] = b"\xff" * 100
    (tmp_path / "torn.tar.gz").write_bytes(torn)
    for given in ("encrypted.zip", "unknown.zip", "deflated.zip", "lzma.zip", "torn.tar.gz"):
        with pytest.raises(PluginRefused, match="can't be read"):
            take_jars(tmp_path / given, into)


@pytest.mark.parametrize("name", ["a\nb.jar", "a\x1b[31m.jar"])
def test_a_jar_whose_name_a_terminal_would_obey_is_refused(tmp_path: Path, into: Path, name: str) -> None:
    with pytest.raises(PluginRefused, match="can't be shown"):
        take_jars(tarred(tmp_path / "a.tar.gz", {name: b"x"}), into)
    assert not list(into.iterdir())


def test_nobody_waits_for_a_pipe_in_the_place_of_a_jar(tmp_path: Path, into: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "folder" / "a.jar")
    for given in (tmp_path / "folder", tmp_path / "folder" / "a.jar"):
        with pytest.raises(PluginRefused, match="is refused"):
            take_jars(given, into)


def test_what_unpacks_to_more_than_plugins_have_is_refused_before_it_is_unpacked(
    tmp_path: Path, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_MOST_BYTES", 1 << 20)
    with pytest.raises(PluginRefused, match="unpacks to more than"):
        take_jars(tarred(tmp_path / "a.tar.gz", {"a.jar": b"a", "zeros.bin": bytes(2 << 20)}), into)
