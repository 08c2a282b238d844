import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from unittest.mock import Mock

import pytest

from rocketconnect_sdk import Option, PermanentError, Position, Rejected, SourceBatch, SystemAway, TaskContext, parse
from rocketconnect_sdk.partitions import Entries
from rocketconnect_sdk.partitions.decoding import Decoder
from rocketconnect_sdk.partitions.options import parse_start
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.resume import JSON
from rocketconnect_sdk.source import SourceTask
from tests.rocketconnect_sdk.partitions.memory import Kept, MemoryLog, MemorySource, Topic, numbered

ON_GAP = Option("on.gap", "As the runtime has it.", default="fail", choices=("fail", "skip"))


def opened(
    source: MemorySource, config: Mapping[str, str], positions: Mapping[str, Position], context: TaskContext | None = None
) -> SourceTask:
    parsed = parse((*source.options, ON_GAP), config)
    share = source.plan(parsed, 1, positions).tasks[0]
    return started(source, config, share, positions, context)


def started(
    source: MemorySource,
    config: Mapping[str, str],
    share: Mapping[str, str],
    positions: Mapping[str, Position],
    context: TaskContext | None = None,
) -> SourceTask:
    task = source.open(parse((*source.options, ON_GAP), config), share, context or TaskContext())
    task.start(positions)
    return task


def all_of(task: SourceTask) -> list[SourceBatch]:
    found: list[SourceBatch] = []
    while batches := batches_of(task.poll()):
        found += batches
    return found


def values(task: SourceTask) -> list[object]:
    return [value for batch in all_of(task) for value in batch.values]


def test_keys_times_headers_and_tombstones_come_as_they_are() -> None:
    topic = Topic()
    topic.add(Kept((0,), b"v", b"\xff", 12, [("n", "ü".encode())]), Kept((1,), None, b"k"), Kept((2,), b"", None))
    (begin, batch) = all_of(opened(MemorySource({"t": topic}), {}, {}))
    assert (begin.end, len(begin)) == ((0,), 0)
    assert batch.partition == "t@a"
    assert list(batch.values) == [b"v", None, b""]
    assert batch.keys == [b"\xff", b"k", None]
    assert batch.timestamps_ms == [12, None, None]
    assert batch.headers == [{"n": "ü"}, {}, {}]
    assert batch.offsets == [(1,), (2,), (3,)]


@pytest.mark.parametrize(
    "headers", [[("n", b"\xff")], [("n", b"1"), ("n", b"2")], [("n", None)]], ids=["no text", "twice", "without a value"]
)
def test_a_header_that_is_no_text_makes_a_bad_record_or_is_kept_as_it_is(headers: list[tuple[str, bytes | None]]) -> None:
    topic = Topic()
    topic.add(Kept((0,), b"v", headers=headers))
    bad = all_of(opened(MemorySource({"t": topic}), {}, {}))[-1].values[0]
    assert isinstance(bad, Rejected)
    assert "headers=json" in bad.reason
    assert bad.original == b"v"
    kept = all_of(opened(MemorySource({"t": topic}), {"headers": "json"}, {}))[-1]
    assert kept.values == [b"v"]
    assert kept.headers is not None
    assert [name for name, _ in json.loads(kept.headers[0]["headers"])] == [name for name, _ in headers]
    assert all_of(opened(MemorySource({"t": topic}), {"headers": "none"}, {}))[-1].headers is None


def test_values_are_read_in_the_form_that_is_named_and_what_is_not_of_it_is_a_bad_record() -> None:
    topic = Topic()
    topic.add(Kept((0,), b'{"a": 1}', b"k"), Kept((1,), b"{", b"k"), Kept((2,), None, b"k"))
    (batch,) = all_of(opened(MemorySource({"t": topic}), {"value.format": "json", "key.format": "string"}, {}))[1:]
    good, bad, nothing = batch.values
    assert (good, nothing) == ({"a": 1}, None)
    assert isinstance(bad, Rejected)
    assert "value.format=json" in bad.reason
    assert batch.keys == ["k"] * 3


def test_a_key_that_is_not_of_its_form_makes_a_bad_record_of_its_value() -> None:
    topic = Topic()
    topic.add(Kept((0,), b"v", b"\xff"))
    bad = all_of(opened(MemorySource({"t": topic}), {"key.format": "string"}, {}))[-1].values[0]
    assert isinstance(bad, Rejected)
    assert bad.original == b"v"


def test_a_corrected_record_is_read_in_the_same_form() -> None:
    source = MemorySource({})
    again = source.read_again(parse(source.options, {"value.format": "json"}), "t@a", b"[1]")
    assert again is not None
    assert list(again.values) == [[1]]


@pytest.mark.parametrize(("start", "expected"), [("earliest", 10), ("latest", 0), ("1970-01-01T00:00:04Z", 6)])
def test_reading_begins_where_it_is_told(start: str, expected: int) -> None:
    source = MemorySource({"t": numbered(10)})
    task = opened(source, {"start": start}, {})
    assert len(values(task)) == expected
    source.topics["t"].add(Kept((10,), b"new"))
    assert values(task) == [b"new"]


def test_where_it_began_is_a_position_before_anything_is_read() -> None:
    (batch,) = batches_of(opened(MemorySource({"t": numbered(10)}), {"start": "latest"}, {}).poll())
    assert (batch.partition, len(batch), batch.end) == ("t@a", 0, (10,))


def test_times_without_a_zone_are_of_utc() -> None:
    assert parse_start("2026-01-31T00:00:00") == datetime(2026, 1, 31, tzinfo=UTC).timestamp()


def test_a_partition_that_comes_later_is_asked_a_plan_for_and_read_from_its_beginning() -> None:
    source = MemorySource({"t/0": numbered(3)})
    replan = Mock()
    task = opened(source, {"start": "latest", "discover.interval": "0.1"}, {}, TaskContext(replan=replan))
    assert all_of(task)[-1].end == (3,)
    replan.assert_not_called()
    source.topics["t/1"] = numbered(2)
    task._next_look = 0.0  # type: ignore[attr-defined]
    task.poll()
    replan.assert_called_once()
    assert values(opened(source, {"start": "latest"}, {"t/0@a": Position((3,))})) == [b"0", b"1"]


def test_what_was_removed_before_it_was_read_is_told_with_its_range_or_passed() -> None:
    source = MemorySource({"t": numbered(10)})
    source.topics["t"].trim((6,))
    positions = {"t@a": Position((2,))}
    with pytest.raises(PermanentError, match=r"t@a: the records from offset 2 up to 6 were removed .*on\.gap=skip"):
        opened(source, {}, positions)
    log = Mock()
    task = opened(source, {"on.gap": "skip"}, positions, TaskContext(log=log))
    first, *others = all_of(task)
    assert (len(first), first.end) == (0, (6,))
    assert [value for batch in others for value in batch.values] == [b"6", b"7", b"8", b"9"]
    assert "from offset 2 up to 6" in log.warning.call_args.args[1]


@pytest.mark.parametrize("skip", [False, True])
def test_what_is_removed_while_it_is_read_is_told_too(skip: bool) -> None:
    source = MemorySource({"t": numbered(10)})
    task = opened(source, {"on.gap": "skip" if skip else "fail"}, {}, TaskContext(batch_records=2))
    task.poll()
    assert [list(batch.values) for batch in batches_of(task.poll())] == [[b"0", b"1"]]
    source.topics["t"].trim((7,))
    if skip:
        assert values(task) == [b"7", b"8", b"9"]
    else:
        with pytest.raises(PermanentError, match="from offset 2 up to 7"):
            task.poll()


@pytest.mark.parametrize("how", ["fail", "skip"])
def test_a_log_that_ends_before_its_position_ends_the_task_whatever_on_gap_says(how: str) -> None:
    with pytest.raises(PermanentError, match=r"read up to offset 7 and ends at 3.*position set"):
        opened(MemorySource({"t": numbered(3)}), {"on.gap": how}, {"t@a": Position((7,))})


def test_a_topic_that_is_made_anew_is_told_and_read_from_its_beginning_as_another_partition() -> None:
    source = MemorySource({"t": replace(numbered(3), identity="b")})
    positions = {"t@a": Position((7,))}
    with pytest.raises(PermanentError, match=r"t@a was made anew .* behind offset 7 is lost.*on\.gap=skip"):
        opened(source, {}, positions)
    gone, begin, *others = all_of(opened(source, {"on.gap": "skip"}, positions))
    assert (gone.partition, gone.end, gone.resume) == ("t@a", (7,), {"gone": True})
    assert begin.partition == "t@b"
    assert [value for batch in others for value in batch.values] == [b"0", b"1", b"2"]
    # It was told once.
    told = {"t@a": Position((7,), {"gone": True}), "t@b": Position((3,))}
    assert values(opened(source, {}, told)) == []


def test_a_topic_that_is_made_anew_behind_its_plan_is_left_to_the_next_one() -> None:
    source = MemorySource({"t": numbered(3)})
    share = source.plan(parse(source.options, {}), 1, {}).tasks[0]
    source.topics["t"].identity = "b"
    replan = Mock()
    task = started(source, {}, share, {}, TaskContext(replan=replan))
    assert values(task) == []
    replan.assert_called_once()


def test_a_partition_that_is_gone_is_told() -> None:
    with pytest.raises(PermanentError, match="u@a is not there any more; what it had behind offset 2 is lost"):
        opened(MemorySource({"t": numbered(1)}), {}, {"u@a": Position((2,))})


def test_a_partition_that_goes_while_it_is_read_is_looked_for_by_another_start() -> None:
    source = MemorySource({"t": numbered(1), "u": numbered(1)})
    task = opened(source, {}, {})
    all_of(task)
    del source.topics["u"]
    task._next_look = 0.0  # type: ignore[attr-defined]
    with pytest.raises(SystemAway, match="u@a: not there any more"):
        task.poll()


def test_what_may_only_be_away_is_not_told_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def missed(_: MemoryLog, partitions: Iterable[str]) -> None:
        asked.extend(partitions)
        raise SystemAway("its server is away")

    monkeypatch.setattr(MemoryLog, "missed", missed)
    with pytest.raises(SystemAway, match="its server is away"):
        opened(MemorySource({"t": Topic()}), {}, {"u@a": Position((2,))})
    assert asked == ["u@a"]


def test_one_task_alone_tells_what_is_gone() -> None:
    source = MemorySource({"t/0": numbered(1), "t/1": numbered(1)})
    positions = {"u@a": Position((2,))}
    first, second = source.plan(parse(source.options, {}), 5, positions).tasks
    with pytest.raises(PermanentError):
        started(source, {}, first, positions)
    assert values(started(source, {}, second, positions)) == [b"0"]


def test_a_format_that_needs_a_registry_needs_its_url() -> None:
    source = MemorySource({})
    (problem,) = source.check(parse(source.options, {"value.format": "avro"}))
    assert problem.key == "schema.registry.url"


def test_it_is_caught_up_at_the_end_that_there_was_and_no_sooner() -> None:
    task = opened(MemorySource({"t": numbered(10)}), {}, {}, TaskContext(batch_records=2))
    assert [task.caught_up, task.remaining()] == [False, 10]
    all_of(task)
    assert [task.caught_up, task.remaining()] == [True, 0]


class Counting(MemoryLog):
    """Beside a place it notes how many records were read."""

    def __init__(self, topics: dict[str, Topic], recalled: list[Mapping[str, JSON]]) -> None:
        super().__init__(topics)
        self._count = 0
        self._recalled = recalled

    def note(self, name: str) -> Mapping[str, JSON]:
        return {"read": self._count}

    def recall(self, name: str, note: Mapping[str, JSON]) -> None:
        self._recalled.append(note)

    def read(self, records: int, size: int) -> Sequence[Entries]:
        found = super().read(records, size)
        self._count += sum(len(entries.values) for entries in found)
        return found


def test_what_a_log_notes_is_stored_with_the_position_and_comes_back_to_it() -> None:
    source = MemorySource({"t": numbered(5)})
    recalled: list[Mapping[str, JSON]] = []
    source.connect = lambda config, context: Counting(source.topics, recalled)  # type: ignore[method-assign]
    begin, *others = all_of(opened(source, {}, {}, TaskContext(batch_records=3)))
    assert (begin.end, begin.resume) == ((0,), {"read": 0})
    assert [(batch.offsets[-1], batch.resume) for batch in others] == [((3,), {"read": 3}), ((5,), {"read": 5})]
    assert recalled == []
    opened(source, {}, {"t@a": Position((3,), {"read": 3})})
    assert recalled == [{"read": 3}]


def test_values_that_a_log_has_read_already_are_those_of_the_records() -> None:
    config = parse(MemorySource({}).options, {"value.format": "json", "key.format": "string"})
    bad = Rejected("Bad", "it is", b"x", 1, "")
    entries = Entries("t", [{"a": "1"}, bad, b"[2]", {"a": "3"}, bad], [(n,) for n in range(1, 6)], size=7)
    entries.keys, entries.timestamps_ms, entries.headers = [None, None, None, b"\xff", b"\xff"], [None] * 5, [()] * 5
    (batch,) = Decoder(config).batches("t", entries)
    first, second, third, key, twice = batch.values
    assert (first, second, third, twice) == ({"a": "1"}, bad, [2], bad)
    assert isinstance(key, Rejected)
    assert (key.error, key.original) == ("BadKey", b'{"a": "3"}')
    assert batch.size == 10
