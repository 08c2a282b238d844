"""What can be there of a batch without the rest of it."""

from dataclasses import dataclass, replace

from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from rocketconnect_sdk.tables.task import Part, parts_of


@dataclass(frozen=True)
class Load:
    table: str
    queue: str
    number: int = 0


def commit_of(*queues: str) -> SinkCommit:
    before, after = ({queue: QueuePosition(until) for queue in queues} for until in (0, 5))
    return SinkCommit("uid", 0, 1, before, after, 5, "token")


def of(commit: SinkCommit, *queues: str) -> SinkCommit:
    before, after = ({queue: each[queue] for queue in queues} for each in (commit.before, commit.after))
    return replace(commit, before=before, after=after)


def test_queues_of_one_table_are_one_part_and_each_table_has_one() -> None:
    commit = commit_of("a/b/0", "x/b/0", "a/b/1")
    loads = [Load("a", "a/b/0"), Load("x", "x/b/0"), Load("a", "a/b/1")]
    assert parts_of([loads[:2], loads[2:]], commit) == [
        Part([loads[1]], of(commit, "x/b/0")),
        Part([loads[0], loads[2]], of(commit, "a/b/0", "a/b/1")),
    ]


def test_tables_of_records_of_one_queue_are_one_part_whatever_their_topics_are_called() -> None:
    commit = commit_of("letters/b/0", "a/b/0", "x/b/0")
    loads = [Load("a", "letters/b/0", 1), Load("x", "letters/b/0", 2), Load("x", "x/b/0", 3), Load("a", "letters/b/0", 4)]
    (part,) = [each for each in parts_of([loads], commit) if each.loads]
    assert part == Part(loads, of(commit, "letters/b/0", "x/b/0"))


def test_queues_without_rows_are_one_part() -> None:
    commit = commit_of("a/b/0", "x/b/0", "y/b/0")
    parts = parts_of([None, [], [Load("x", "x/b/0")]], commit)
    assert [(len(each.loads), sorted(each.commit.after)) for each in parts] == [(1, ["x/b/0"]), (0, ["a/b/0", "y/b/0"])]
