"""Journals that systemd-journal-remote writes, and journalctl reads."""

import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from connectors.logs.journald_source import JournaldSource, JournalTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.permissions.roots import READ_ROOTS, OutsideRoots
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.resume import read, written

_BOOT = "0123456789abcdef0123456789abcdef"


class Journal:
    """A folder with the file of a journal."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0

    def add(self, *texts: str, unit: str = "app.service") -> None:
        """Adds entries as another machine would send them."""
        entries = b""
        for text in texts:
            self._count += 1
            time_us = 1_767_225_600_000_000 + self._count * 1_000
            fields = f"_BOOT_ID={_BOOT}\n_SYSTEMD_UNIT={unit}\nPRIORITY=6\nDATA="
            entries += f"__REALTIME_TIMESTAMP={time_us}\n__MONOTONIC_TIMESTAMP={self._count * 1000}\n{fields}".encode()
            entries = entries.removesuffix(b"DATA=") + b"DATA\n" + (2).to_bytes(8, "little") + b"\x00\xff\n"
            entries += f"MESSAGE={text}\n\n".encode()
        words = ["/lib/systemd/systemd-journal-remote", f"--output={self.folder / 'a.journal'}", "-"]
        subprocess.run(words, input=entries, check=True, capture_output=True, timeout=60)


class Reading:
    """A task, and what its topic has."""

    def __init__(self, journal: Journal, positions: Mapping[str, Position] | None = None, **options: str) -> None:
        source = JournaldSource()
        given = {"directory": str(journal.folder), **{key.replace("_", "."): value for key, value in options.items()}}
        config = parse(source.options, given)
        self.task: JournalTask = source.open(config, source.plan(config, 3, {}).tasks[0], TaskContext())
        self.values: list[Any] = []
        self.batches: list[Any] = []
        self.positions = dict(positions or {})
        self.task.start(self.positions)
        assert not [problem for name, at in self.positions.items() for problem in source.check_position(config, name, at)]

    def read(self, count: int) -> list[str]:
        """The messages, when there are so many."""
        end = time.monotonic() + 60
        while len(self.values) < count:
            assert time.monotonic() < end, f"{len(self.values)} of {count} came"
            if batch := self.task.poll():
                self.values += batch.values
                self.batches.append(batch)
                self.positions[batch.partition] = Position(batch.end, read(written(batch.resume)))
            else:
                time.sleep(self.task.idle_seconds)
        return [value["MESSAGE"] for value in self.values]


def test_the_journal_of_the_machine_is_read_only_where_connectors_may_read_its_files(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = JournaldSource()
    config = parse(source.options, {})
    assert list(source.check(config)) == []
    for roots, refused in (
        (str(journal.folder), ["/run/log/journal", "/var/log/journal"]),
        ("/var/log:/etc", ["/run/log/journal"]),
        ("/var/log/journal:/run/log/journal", []),
    ):
        monkeypatch.setenv(READ_ROOTS, roots)
        found = list(source.check(config))
        assert [(each.key, each.reason.split()[8]) for each in found] == [("directory", folder) for folder in refused]
        if refused:
            with pytest.raises(OutsideRoots, match="is not where this executor lets connectors read files"):
                source.open(config, {}, TaskContext())
        else:
            source.open(config, {}, TaskContext())
    monkeypatch.setenv(READ_ROOTS, str(journal.folder))
    source.open(parse(source.options, {"directory": str(journal.folder)}), {}, TaskContext())


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


def test_entries_are_there_with_their_fields_and_after_a_restart_those_that_follow(journal: Journal) -> None:
    journal.add("one", "two ünï")
    first = Reading(journal, key_field="_SYSTEMD_UNIT")
    assert first.read(2) == ["one", "two ünï"]
    assert first.values[1].items() >= {"_SYSTEMD_UNIT": "app.service", "PRIORITY": "6", "DATA": b"\x00\xff"}.items()
    assert not [name for name in first.values[0] if name == "__CURSOR"]
    (batch, *_) = first.batches
    assert (batch.keys[0], batch.timestamps_ms[0]) == ("app.service", 1_767_225_600_001)
    journal.add("three")
    assert first.read(3)[2:] == ["three"]
    first.task.close()
    journal.add("four", "five")
    second = Reading(journal, first.positions)
    assert second.read(2) == ["four", "five"]
    assert second.batches[0].offsets[0] > first.batches[-1].offsets[-1]
    second.task.close()
    second.task.close()


def test_units_matches_and_the_place_to_begin_at_choose_entries(journal: Journal) -> None:
    journal.add("a", unit="a.service")
    journal.add("b", unit="b.service")
    found = Reading(journal, matches="_SYSTEMD_UNIT=b.service")
    assert found.read(1) == ["b"]
    found.task.close()
    latest = Reading(journal, begin="latest")
    assert latest.task.poll() is None
    # journalctl looks for the end when it starts, which takes a moment: entries that come before that are none of those.
    while (batch := latest.task.poll()) is None:
        journal.add("c")
        time.sleep(latest.task.idle_seconds)
    latest.values += batch.values
    assert {value["MESSAGE"] for value in latest.values} == {"c"}
    latest.task.close()


def test_what_journalctl_says_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = Reading(Journal(tmp_path / "nothing"))
    with pytest.raises(SystemAway, match=r"journalctl has ended with 1: .*No such file"):
        reading.read(1)
    reading.task.close()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PermanentError, match="journalctl is not there"):
        Reading(Journal(tmp_path))
