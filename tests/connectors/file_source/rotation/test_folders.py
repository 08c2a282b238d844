"""What is in folders."""

from pathlib import Path

from connectors.file_source.folders import entries, files


def test_files_have_their_inodes_and_a_link_that_leads_to_itself_hides_none(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / name).touch()
        (tmp_path / f"{name}.link").symlink_to(tmp_path / f"{name}.link")
    assert dict(files([tmp_path])) == {(tmp_path / name).stat().st_ino: tmp_path / name for name in ("a", "b", "c")}
    assert sorted(entry.name for entry in entries(tmp_path)) == ["a", "a.link", "b", "b.link", "c", "c.link", "folder"]


def test_what_is_no_folder_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert list(files([tmp_path / "gone", tmp_path / "a", tmp_path / "*"])) == []
