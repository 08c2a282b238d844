"""The search for Java."""

from pathlib import Path

import pytest

from rocketconnect_cli.embedded import JavaMissing
from rocketconnect_cli.embedded.java import find_java


def _java(home: Path, version: str) -> Path:
    """Make a program that says about itself what a Java of this version says."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    program.chmod(0o755)
    return program


def test_finds_the_java_of_this_machine() -> None:
    assert find_java().name == "java"


def test_java_home_wins_over_path_and_system(tmp_path: Path) -> None:
    chosen = _java(tmp_path / "home", "21.0.1")
    on_path = _java(tmp_path / "path", "17.0.1")
    _java(tmp_path / "system" / "java-25", "25")
    environment = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)}
    assert find_java(environment, tmp_path / "system") == chosen


def test_takes_the_lowest_system_java_that_is_new_enough(tmp_path: Path) -> None:
    _java(tmp_path / "java-25-openjdk", "25.0.1")
    _java(tmp_path / "java-1.11.0-openjdk", "11.0.2")
    right = _java(tmp_path / "java-1.17.0-openjdk", "17.0.2")
    assert find_java({"PATH": ""}, tmp_path) == right


def test_an_old_java_is_named_with_what_to_install(tmp_path: Path) -> None:
    old = _java(tmp_path / "home", "1.8.0_392")
    with pytest.raises(JavaMissing) as raised:
        find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": ""}, tmp_path / "none")
    assert f"{old} (Java 8)" in str(raised.value)
    assert "apt-get install openjdk-17-jre-headless" in str(raised.value)


def test_a_java_home_without_java_is_passed_over(tmp_path: Path) -> None:
    right = _java(tmp_path / "java-17", "17")
    assert find_java({"JAVA_HOME": str(tmp_path / "missing"), "PATH": ""}, tmp_path) == right


def test_missing_java_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(JavaMissing) as raised:
        find_java({"PATH": ""}, tmp_path)
    assert "\n" not in str(raised.value)
    assert "apt-get install openjdk-17-jre-headless" in str(raised.value)
