"""Releases: what `docs/releases.md` says of them."""

import hashlib
from pathlib import Path

import pytest

from tests.deploy.dockerfile import ROOT
from tests.deploy.releases import Release, built, releases


def test_each_release_has_its_chapter_in_the_changelog() -> None:
    chapters = [line.split()[1] for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert chapters == ["Unreleased", *(release.version for release in releases())]


@pytest.mark.slow
@pytest.mark.parametrize("release", releases(), ids=lambda release: release.version)
def test_a_release_that_is_built_again_is_the_same_file(release: Release, tmp_path: Path) -> None:
    wheel = built(release, tmp_path)
    assert wheel.name == f"rocketconnect-{release.version}-py3-none-any.whl"
    assert hashlib.sha256(wheel.read_bytes()).hexdigest() == release.digest
