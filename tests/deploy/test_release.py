"""What a release needs, and what becomes of the pages about it."""

import re
from pathlib import Path

import pytest

from scripts.release.__main__ import builder
from scripts.release.plan import day, problems, recorded, sums, tag_commands, targets
from tests.deploy.dockerfile import ROOT, TEXT

COMMIT, OTHER, DIGEST = "a" * 40, "b" * 40, "c" * 64
CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2026-12-01\n\n## 0.1.0 - 2026-11-28\n"
PAGE = (ROOT / "docs/releases.md").read_text()


def test_a_commit_that_has_all_is_a_release_though_its_row_was_written_before() -> None:
    assert problems("1.2.3", [], CHANGELOG, PAGE, COMMIT) == []
    written = recorded(PAGE, "1.2.3", day("1.2.3", CHANGELOG), COMMIT, DIGEST)
    assert problems("1.2.3", ["docs/releases.md"], CHANGELOG, written, COMMIT) == []
    assert recorded(written, "1.2.3", "2026-12-01", COMMIT, DIGEST) == written


def test_all_that_is_missing_is_told_at_once_with_what_to_do() -> None:
    told = problems("1.2.4.dev0", ["README.md", "docs/releases.md"], CHANGELOG, PAGE, COMMIT)
    assert [re.sub(r":.*", "", problem) for problem in told] == [
        "the version is 1.2.4.dev0",
        "files differ from the commit",
        "CHANGELOG.md has no chapter '## 1.2.4.dev0 - DAY'",
    ]
    assert "commit or remove README.md" in told[1]


def test_a_version_is_released_once() -> None:
    written = recorded(PAGE, "1.2.3", "2026-12-01", OTHER, DIGEST)
    (told,) = problems("1.2.3", [], CHANGELOG, written, COMMIT)
    assert told == f"1.2.3 was released already, as commit {OTHER}: check that out, or write the next version"
    with pytest.raises(ValueError, match="build it with the pinned builders"):
        recorded(written, "1.2.3", "2026-12-01", OTHER, "d" * 64)


def test_the_newest_release_stands_first_and_the_others_stay() -> None:
    written = recorded(PAGE, "1.2.3", "2026-12-01", COMMIT, DIGEST)
    rows = [line for line in written.splitlines() if line.startswith("| ")]
    assert rows[1] == f"| 1.2.3 | 2026-12-01 | `{COMMIT}` | `{DIGEST}` |"
    assert [rows[0], *rows[2:]] == [line for line in PAGE.splitlines() if line.startswith("| ")]


def test_every_image_that_starts_something_is_released() -> None:
    found = targets(TEXT)
    assert found == ["config", "position", "state", "cluster", "executor", "gateway", "exporter", "all"]


def test_what_is_left_is_said_as_commands() -> None:
    assert sums({"b": "2", "a": "1"}) == "1  a\n2  b\n"
    tag, push = tag_commands("1.2.3", COMMIT, [])
    assert f"v1.2.3 {COMMIT}" in tag
    assert push == "git push origin HEAD v1.2.3"
    assert tag_commands("1.2.3", COMMIT, ["docs/releases.md"])[0].endswith("docs/releases.md")


@pytest.mark.parametrize(
    ("answers", "builds"),
    [({"docker": 0, "buildah": 0}, "docker"), ({"docker": 1, "buildah": 0}, "buildah"), ({"docker": 1}, "none")],
)
def test_a_docker_whose_daemon_is_away_builds_no_images(
    answers: dict[str, int], builds: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, code in answers.items():
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert builder() == builds
