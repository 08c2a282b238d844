"""What a release needs, and what becomes of the pages about it. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence

PAGE = "docs/releases.md"
_FINAL = re.compile(r"\d+\.\d+\.\d+")
_ROW = re.compile(
    r"^\| (?P<version>[0-9.]+) \| [0-9-]{10} \| `(?P<commit>[0-9a-f]{40})` \| `(?P<digest>[0-9a-f]{64})` \|$", re.MULTILINE
)
_HEAD = re.compile(r"^\| version \|.*\n\|[-|]+\|\n", re.MULTILINE)
_CHAPTER = "## {} - "


def problems(version: str, changed: Sequence[str], changelog: str, page: str, commit: str) -> list[str]:
    """Everything that keeps a commit from being a release, each with what to do; empty: nothing.

    Args:
        version: What the commit says that it is.
        changed: The files that differ from the commit, without those that are ignored.
        changelog: The text of CHANGELOG.md.
        page: The text of docs/releases.md.
        commit: The full hash of the commit.
    """
    found = []
    if not _FINAL.fullmatch(version):
        found.append(
            f"the version is {version}: write the one to release, such as 1.2.3, into rocketconnect_sdk/version.py and commit it"
        )
    # The row of this release may have been written by the run before.
    if others := [name for name in changed if name != PAGE]:
        found.append(f"files differ from the commit: commit or remove {', '.join(others[:10])}")
    if not any(line.startswith(_CHAPTER.format(version)) for line in changelog.splitlines()):
        found.append(
            f"CHANGELOG.md has no chapter '{_CHAPTER.format(version)}DAY': give what is under Unreleased this name and commit it"
        )
    recorded = {row["version"]: row["commit"] for row in _ROW.finditer(page)}
    if recorded.get(version, commit) != commit:
        found.append(f"{version} was released already, as commit {recorded[version]}: check that out, or write the next version")
    return found


def day(version: str, changelog: str) -> str:
    """The day of a release, as the changelog has it."""
    chapter = _CHAPTER.format(version)
    (found,) = [line.removeprefix(chapter).strip() for line in changelog.splitlines() if line.startswith(chapter)]
    return found


def recorded(page: str, version: str, day: str, commit: str, digest: str) -> str:
    """The text of docs/releases.md with the row of this release, the newest first; as it was where it has the row.

    Raises:
        ValueError: it has another digest for the same commit.
    """
    for row in _ROW.finditer(page):
        if row["version"] == version:
            if row["digest"] != digest:
                msg = (
                    f"{PAGE} has {row['digest']} for the wheel of {version}, and it is {digest}: build it with the pinned builders"
                )
                raise ValueError(msg)
            return page
    new = f"| {version} | {day} | `{commit}` | `{digest}` |\n"
    return _HEAD.sub(lambda head: head[0] + new, page, count=1)


def sums(digests: Mapping[str, str]) -> str:
    """The text of SHA256SUMS, as `sha256sum --check` reads it, of SHA-256 in hex by the names of files."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))


def targets(dockerfile: str) -> list[str]:
    """The targets of the Dockerfile that are images for people: those that start something."""
    stages = re.split(r"^FROM \S+ AS ", dockerfile, flags=re.MULTILINE)[1:]
    return [stage.split()[0] for stage in stages if "\nENTRYPOINT " in stage]


def tag_commands(version: str, commit: str, changed: Iterable[str]) -> list[str]:
    """What is left to whoever releases."""
    record = [f"git commit -m 'Release {version} is recorded' {PAGE}"] if PAGE in changed else []
    return [
        *record,
        f"git tag --annotate v{version} {commit} --message 'RocketConnect {version}'",
        f"git push origin HEAD v{version}",
    ]
