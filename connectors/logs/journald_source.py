"""The journal of systemd into a topic, by journalctl."""

import re
import time
from collections.abc import Iterable, Mapping, Sequence

from connectors.logs.journal import Journal
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.permissions.roots import Access, reading
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.source import Edge, Plan, Source, SourceTask, never

_PARTITION = "journal"
_CURSOR = "cursor"
_MATCH = re.compile(r"[A-Z_][A-Z0-9_]*=.*", re.DOTALL)
_PRIORITIES = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")
_IDLE_SECONDS = 0.05
_OF_MACHINE = ("/run/log/journal", "/var/log/journal")
"""Where journald keeps the journal of a machine."""


def _matches_problem(matches: Sequence[str]) -> str | None:
    return next((f"{each[:80]!r} is no FIELD=VALUE" for each in matches if not _MATCH.fullmatch(each)), None)


class JournaldSource(Source):
    """Reads the journal of systemd, and follows it, by journalctl: each entry is an object of its fields."""

    name = "journald_source"
    replayable = never
    options = (
        Option(
            "directory",
            "A folder with files of a journal. Empty: the journal of the machine that the task runs on.",
            default="",
            access=Access.READ,
        ),
        Option(
            "units", "Entries of these units alone, separated by commas: nginx.service,cron.service. Empty: all.", Kind.LIST, ""
        ),
        Option(
            "matches",
            "Entries with these fields alone, each FIELD=VALUE, separated by commas: _UID=0,SYSLOG_IDENTIFIER=sudo. Of one field "
            "any of its values.",
            Kind.LIST,
            "",
            check=_matches_problem,
            fix="Write FIELD=VALUE, such as _TRANSPORT=kernel.",
        ),
        Option("priority", "Entries of this priority and of graver ones alone.", default="debug", choices=_PRIORITIES),
        Option(
            "begin",
            "Where it begins. earliest: with the first entry that is there. latest: with the next one.",
            default="earliest",
            choices=("earliest", "latest"),
        ),
        Option("key.field", "The field that becomes the key of the record: _SYSTEMD_UNIT. Empty: there is none.", default=""),
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """Whether the executor lets connectors read the journal. See Source."""
        for folder in () if config["directory"] else _OF_MACHINE:
            if reason := reading().problem(folder):
                yield Problem(
                    "directory", "", f"stands for the journal of the machine, and {folder} {reason}", reading().fix(folder)
                )

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """A journal is one task."""
        del config, max_tasks, positions
        return Plan([{}])

    def check_position(self, config: Config, partition: str, position: Position) -> Iterable[Problem]:
        """It has the cursor of an entry. See Source."""
        del config
        if partition != _PARTITION:
            yield Problem(partition, "", "is no partition of a journal", f"Name the partition {_PARTITION}.")
        elif len(position.offset) != 2 or min(position.offset) < 0 or not isinstance(position.resume.get(_CURSOR), str):
            fix = "Give two numbers, and a map with the cursor of an entry as journalctl shows it (-o json)."
            yield Problem(partition, str(list(position.offset)), "is no place in a journal", fix)

    def find_position(self, config: Config, partition: str, place: Edge | float) -> Position | None:
        """None: journalctl finds a place when a task begins. See Source."""
        del config, partition, place
        return None

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "JournalTask":
        """See Source."""
        del task
        return JournalTask(config, context)


class JournalTask(SourceTask):
    """Follows a journal. Offsets are (the time of the start, how many entries since): a cursor is no number."""

    def __init__(self, config: Config, context: TaskContext) -> None:
        # What others open is looked at before: journalctl opens it.
        for folder in (config["directory"],) if config["directory"] else _OF_MACHINE:
            reading().check(folder)
        self._key: str = config["key.field"]
        self._begin: str = config["begin"]
        self._context = context
        self._words = [
            "--follow",
            *([f"--directory={config['directory']}"] if config["directory"] else []),
            *(f"--unit={unit}" for unit in config["units"]),
            *([f"--priority={config['priority']}"] if config["priority"] != "debug" else []),
        ]
        self._matches = list(config["matches"])
        self._journal: Journal | None = None
        self._rank = 0
        self._given = 0
        self._grew = False

    def start(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self.close()
        known = positions.get(_PARTITION)
        # Above that of every start before, also of one at a time that the clock has gone back behind.
        self._rank = max(time.time_ns() // 1_000_000, self._rank + 1, known.offset[0] + 1 if known else 0)
        self._given = 0
        if known is None:
            place = ["--lines=all"] if self._begin == "earliest" else ["--lines=0"]
        else:
            place = ["--lines=all", f"--after-cursor={known.resume[_CURSOR]}"]
        self._journal = Journal([*self._words, *place, *self._matches])

    def poll(self) -> SourceBatch | None:
        """See SourceTask."""
        assert self._journal is not None  # noqa: S101 - see start
        entries = self._journal.read(self._context.batch_bytes)
        self._grew = bool(entries)
        if not entries:
            return None
        offsets = [(self._rank, self._given + number) for number in range(1, len(entries) + 1)]
        self._given += len(entries)
        return SourceBatch(
            _PARTITION,
            [entry.fields for entry in entries],
            offsets,
            keys=[entry.fields.get(self._key) for entry in entries] if self._key else None,
            timestamps_ms=[entry.time_ms for entry in entries],
            end=offsets[-1],
            resume={_CURSOR: entries[-1].cursor},
            size=sum(entry.size for entry in entries),
        )

    @property
    def idle_seconds(self) -> float:
        """See SourceTask."""
        return 0.01 if self._grew else _IDLE_SECONDS

    def close(self) -> None:
        """See SourceTask."""
        journal, self._journal = self._journal, None
        if journal is not None:
            journal.close()
