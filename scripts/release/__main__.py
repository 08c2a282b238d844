"""Make a release of HEAD: `make release`. Everything comes to dist/VERSION; nothing is published, and no tag is made.

The wheel, the images, what is in each (CycloneDX), and SHA256SUMS. Then docs/releases.md has the row of the release, and the
commands are said that are left. May be run again: it starts anew, and what it has written into the page stays.
"""

import argparse
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from rocketconnect_sdk.version import __version__ as version
from scripts.release import plan

ROOT = Path(__file__).parents[2]
_INSIDE = "/opt/rocketconnect/sbom.cdx.json"


def main() -> int:
    """Do it; return the exit code."""
    parser = argparse.ArgumentParser(prog="make release", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--tool", choices=["docker", "buildah", "none"], help="what builds the images; unless given, the one there is"
    )
    parser.add_argument("--base", help="the base of the images, instead of the Dockerfile's")
    given = parser.parse_args()
    commit = _said("git", "rev-parse", "HEAD").strip()
    changed = [line[3:] for line in _said("git", "status", "--porcelain").splitlines()]
    changelog, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", plan.PAGE))
    if problems := plan.problems(version, changed, changelog, page, commit):
        print("No release yet:", *(f"- {problem}" for problem in problems), sep="\n", file=sys.stderr)
        return 1
    dist = ROOT / "dist" / version
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            wheel = _make(dist, Path(folder), commit, given.tool, given.base)
            new = plan.recorded(page, version, plan.day(version, changelog), commit, _digest(wheel))
        except (subprocess.CalledProcessError, ValueError) as error:
            print(f"It failed; run it again when this is mended: {error}", file=sys.stderr)
            return 1
    (dist / "SHA256SUMS").write_text(plan.sums({path.name: _digest(path) for path in dist.iterdir()}), encoding="utf-8")
    _say(f"The row of {plan.PAGE}")
    (ROOT / plan.PAGE).write_text(new, encoding="utf-8")
    left = plan.tag_commands(version, commit, [plan.PAGE] if new != page or plan.PAGE in changed else [])
    print(f"{version} is in {dist}. Left to you:", *left, sep="\n  ")
    return 0


def _make(dist: Path, folder: Path, commit: str, tool: str | None, base: str | None) -> Path:
    source = folder / "source"
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(source, filter="data")
    _say("The wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(dist)]
    subprocess.run(build, cwd=source, check=True, stdout=sys.stderr)
    (wheel,) = dist.glob("*.whl")
    _say("What it brings")
    _list_packages(source, wheel, folder, dist / f"{wheel.stem}.cdx.json")
    tool = tool or builder()
    if tool == "none":
        _say("No images: there is neither a Docker that answers nor buildah, or they were not wanted")
        return wheel
    ids = []
    for target in plan.targets((source / "deploy/docker/Dockerfile").read_text(encoding="utf-8")):
        name = f"rocketconnect/{target}:{version}"
        _say(f"The image {name}")
        ids.append(f"{_image(tool, source, target, name, commit, base)}  {name}\n")
        (dist / f"{target}.cdx.json").write_text(_read(tool, name), encoding="utf-8")
    (dist / "images.txt").write_text("".join(ids), encoding="utf-8")
    return wheel


def builder() -> str:
    """What builds images here; "none": nothing. A docker whose daemon is away can build none."""
    for name, asked in (("docker", ["docker", "version"]), ("buildah", ["buildah", "--version"])):
        if shutil.which(name) and subprocess.run(asked, capture_output=True, check=False).returncode == 0:
            return name
    return "none"


def _list_packages(source: Path, wheel: Path, folder: Path, to: Path) -> None:
    """Write down what is there when the wheel is installed without extras: what an extra brings stands in its image."""
    tools, there = folder / "tools", folder / "there"
    locks = [str(source / f"requirements-{name}.lock") for name in ("build", "sbom")]
    for environment in (tools, there):
        subprocess.run(
            [sys.executable, "-m", "venv", *(["--without-pip"] if environment == there else []), environment], check=True
        )
    pip: list[str | Path] = [
        tools / "bin/pip",
        "install",
        "--quiet",
        "--require-hashes",
        *(word for lock in locks for word in ("-r", lock)),
    ]
    subprocess.run(pip, check=True)
    python = there / "bin/python"
    uv: list[str | Path] = [
        tools / "bin/uv",
        "pip",
        "install",
        "--quiet",
        "--python",
        python,
        "--constraint",
        source / "requirements.lock",
        wheel,
    ]
    subprocess.run(uv, check=True)
    listing: list[str | Path] = [
        "environment",
        "--output-reproducible",
        "--pyproject",
        source / "pyproject.toml",
        "--output-file",
        to,
        python,
    ]
    subprocess.run([tools / "bin/cyclonedx-py", *listing], check=True, stderr=subprocess.DEVNULL)


def _image(tool: str, source: Path, target: str, name: str, commit: str, base: str | None) -> str:
    """Build one; return its ID."""
    command = (
        ["docker", "build"] if tool == "docker" else ["buildah", "bud", "--isolation", "chroot", "--format", "docker", "--layers"]
    )
    told = {"VERSION": version, "REVISION": commit} | ({"BASE": base} if base else {})
    arguments = [word for key, value in told.items() for word in ("--build-arg", f"{key}={value}")]
    where = ["--file", "deploy/docker/Dockerfile", "--target", target, "--tag", name, "."]
    subprocess.run([*command, *arguments, *where], cwd=source, check=True, stdout=sys.stderr)
    if tool == "docker":
        return _said("docker", "image", "inspect", "--format", "{{.Id}}", name).strip()
    return "sha256:" + _said("buildah", "inspect", "--type", "image", "--format", "{{.FromImageID}}", name).strip()


def _read(tool: str, name: str) -> str:
    """What an image says of what is in it."""
    if tool == "docker":
        return _said("docker", "run", "--rm", "--entrypoint", "cat", name, _INSIDE)
    container = _said("buildah", "from", name).strip()
    try:
        return _said("buildah", "run", "--isolation", "chroot", container, "--", "cat", _INSIDE)
    finally:
        _said("buildah", "rm", container)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _said(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def _say(step: str) -> None:
    print(f"== {step}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
