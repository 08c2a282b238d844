"""The search for Java and its compiler: the same for both."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rocketconnect_kit.java.errors import JavaMissing
from rocketconnect_kit.java.find import find_java, find_javac

Find = Callable[..., Path]
both = pytest.mark.parametrize("find", [find_java, find_javac])


def _java(home: Path, version: str) -> dict[Find, Path]:
    """Make programs that say about themselves what those of a Java of this version say; by what finds them."""
    says = {"java": f"echo 'openjdk version \"{version}\" 2025-01-01' >&2", "javac": f"echo javac {version}"}
    for name, line in says.items():
        program = home / "bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{line}\n")
        program.chmod(0o755)
    return {find_java: home / "bin" / "java", find_javac: home / "bin" / "javac"}


def test_finds_the_java_and_the_compiler_of_this_machine() -> None:
    assert (find_java().name, find_javac().name) == ("java", "javac")


@both
def test_java_home_wins_over_path_and_system(tmp_path: Path, find: Find) -> None:
    chosen = _java(tmp_path / "home", "21.0.1")[find]
    on_path = _java(tmp_path / "path", "17.0.1")[find]
    _java(tmp_path / "system" / "java-25", "25")
    environment = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)}
    assert find(environment, tmp_path / "system") == chosen


@both
def test_one_on_the_path_that_is_too_old_is_passed_over(tmp_path: Path, find: Find) -> None:
    old = _java(tmp_path / "old", "11.0.2")[find]
    right = _java(tmp_path / "system" / "java-17", "17.0.1")[find]
    assert find({"PATH": str(old.parent)}, tmp_path / "system") == right


@both
def test_takes_the_lowest_system_java_that_is_new_enough(tmp_path: Path, find: Find) -> None:
    _java(tmp_path / "java-25-openjdk", "25.0.1")
    _java(tmp_path / "java-1.11.0-openjdk", "11.0.2")
    right = _java(tmp_path / "java-1.17.0-openjdk", "17.0.2")[find]
    assert find({"PATH": ""}, tmp_path) == right


@both
def test_an_old_java_is_named_with_what_to_install(tmp_path: Path, find: Find) -> None:
    old = _java(tmp_path / "home", "1.8.0_392")[find]
    with pytest.raises(JavaMissing) as raised:
        find({"JAVA_HOME": str(tmp_path / "home"), "PATH": ""}, tmp_path / "none")
    assert f"{old} (Java 8)" in str(raised.value)
    assert f"apt-get install openjdk-17-{'jre' if find is find_java else 'jdk'}-headless" in str(raised.value)


@both
def test_a_java_home_without_java_is_passed_over(tmp_path: Path, find: Find) -> None:
    right = _java(tmp_path / "java-17", "17")[find]
    assert find({"JAVA_HOME": str(tmp_path / "missing"), "PATH": ""}, tmp_path) == right


@both
def test_missing_java_is_told_in_one_line(tmp_path: Path, find: Find) -> None:
    with pytest.raises(JavaMissing) as raised:
        find({"PATH": ""}, tmp_path)
    assert "\n" not in str(raised.value)
    assert "apt-get install openjdk-17-" in str(raised.value)
