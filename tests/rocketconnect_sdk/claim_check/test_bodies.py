"""Bodies in a folder."""

import os
from pathlib import Path

import pytest

from rocketconnect_sdk.claim_check.bodies import Expiry, FolderBodies, bodies_of
from rocketconnect_sdk.claim_check.claim import Claim
from rocketconnect_sdk.claim_check.options import PREFIX, source_options
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.permissions.roots import OutsideRoots


def name(uid: str, offset: int, body: bytes = b"body") -> str:
    return Claim.of(uid, "p", 0, (offset,), body).name


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_a_body_that_is_stored_again_is_one_file_and_is_read_as_it_is(tmp_path: Path) -> None:
    config = parse(source_options(), {f"{PREFIX}url": f"file://{tmp_path}/deep/bodies"})
    (tmp_path / "deep").mkdir()
    bodies = bodies_of(config.within(PREFIX))
    for _ in range(2):
        bodies.put(name("u", 1), b"body")
    assert files(tmp_path / "deep/bodies") == [name("u", 1)]
    assert bodies.get(name("u", 1), 4) == b"body"
    assert bodies.get(name("u", 2), 4) is None


def test_of_a_file_that_is_larger_than_it_should_be_only_one_more_byte_is_read(tmp_path: Path) -> None:
    bodies = FolderBodies(tmp_path)
    bodies.put(name("u", 1), b"x" * 10_000)
    assert bodies.get(name("u", 1), 4) == b"xxxxx"


def test_a_name_that_leads_through_a_file_or_to_a_folder_is_that_of_no_body(tmp_path: Path) -> None:
    bodies = FolderBodies(tmp_path)
    (tmp_path / "README").write_text("of somebody else")
    (tmp_path / name("u", 1)).mkdir(parents=True)
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert bodies.get(name("README", 1), 4) is None
    assert bodies.get(name("u", 1), 4) == b""
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_where_the_place_itself_is_gone_no_body_is_said_to_be(tmp_path: Path) -> None:
    bodies = FolderBodies(tmp_path / "bodies")
    with pytest.raises(PermanentError, match=f"{name('u', 1)}: No such file or directory; create the directory"):
        bodies.get(name("u", 1), 4)
    bodies.put(name("u", 1), b"body")
    assert bodies.get(name("u", 2), 4) is None


def test_only_old_bodies_of_the_connector_are_removed_and_about_once_an_hour(tmp_path: Path) -> None:
    bodies = FolderBodies(tmp_path)
    for uid, offset, age in (("u", 1, 100), ("u", 2, 5), ("v", 1, 100)):
        bodies.put(name(uid, offset), b"body")
        changed = (tmp_path / name(uid, offset)).stat().st_mtime - age
        os.utime(tmp_path / name(uid, offset), (changed, changed))
    expiry = Expiry(bodies, "u", 50.0)
    assert [expiry.look(now) for now in (10.0, 20.0, 4_000.0)] == [1, None, 0]
    assert files(tmp_path) == sorted([name("u", 2), name("v", 1)])
    assert Expiry(bodies, "nobody", 1.0).look(0.0) == 0


def test_no_file_is_read_or_written_where_the_operator_lets_no_connector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = FolderBodies(tmp_path / "bodies")
    bodies.put(name("u", 1), b"body")
    monkeypatch.setenv("ROCKETCONNECT_READ_ROOTS", str(tmp_path / "other"))
    monkeypatch.setenv("ROCKETCONNECT_WRITE_ROOTS", str(tmp_path / "other"))
    with pytest.raises(OutsideRoots):
        bodies.get(name("u", 1), 4)
    with pytest.raises(OutsideRoots):
        bodies.put(name("u", 2), b"body")
