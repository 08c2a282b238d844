"""What is particular to the file sink, with Spark."""

import errno
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
import pytest

from connectors.file_sink import FileSink, dataset, jobs, single
from rocketconnect_sdk.columns.sinks import DataFrameSinkTask
from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RecordError, RetriableError, SystemAway
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.sink import QueuePosition, SinkCommit, SourceMark

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
QUEUE = "t/b/0"
ID = "12345678-1234-5678-1234-567812345678"


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that 3 rows come as rows, 3,000 as Arrow, and lines of 6,000 are made by a job."""
    monkeypatch.setattr(single, "FEW_ROWS", 1_000)
    monkeypatch.setattr(single, "SMALL_ROWS", 5_000)


def config(path: Path, **options: str) -> Config:
    return parse(FileSink.options, {"filename": str(path), **{key.replace("_", "."): value for key, value in options.items()}})


class Sinking:
    def __init__(self, path: Path, *, task: int = 0, queue: str = QUEUE, uid: str = "uid", **options: str) -> None:
        context = TaskContext(connector_uid=uid, task=task)
        self.task: DataFrameSinkTask = FileSink().open(config(path, **options), {}, context)
        self.task.start()
        self._uid, self._number, self._queue, self._at = uid, task, queue, 0

    def write(self, values: Sequence[Any], kind: pa.DataType | None = None) -> None:
        table = pa.table({"value": pa.array(values, kind)})
        end = self._at + len(values)
        before, after = {self._queue: QueuePosition(self._at)}, {self._queue: QueuePosition(end)}
        commit = SinkCommit(self._uid, self._number, 1, before, after, len(values), f"{self._number}{self._at:030x}")
        self.task.write(spark_session().createDataFrame(table), commit)
        self._at = end


def rows(path: Path) -> list[Any]:
    found: list[Any] = pads.dataset(path, format="parquet").to_table().to_pylist()
    return found


def test_text_takes_bytes_and_values_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "out"
    sink = Sinking(path)
    sink.write([b"a\xff", b"", None], pa.binary())
    sink.write([{"x": 1}])
    sink.write(["ü"] * 6000)
    sink.write([b"\xff\xfe"] * 6000, pa.binary())
    sink.write([b"\xff", None] * 1500, pa.binary())
    large = "ü\n".encode() * 6000 + b"\xff\xfe\n" * 6000
    assert path.read_bytes() == b'a\xff\n\n\n{"x":1}\n' + large + b"\xff\n\n" * 1500


def test_a_deleted_connector_leaves_the_files_that_count_and_nothing_that_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    FileSink().deleted(config(path, format="parquet"), "uid")
    assert not path.exists()
    sink = Sinking(path, format="parquet")

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(dataset.DatasetTask, "_rename", dies)
        sink.write([{"x": 1}])
    (path / "_rocketconnect/uid/staged/0-0-0-given-up").mkdir()
    FileSink().deleted(config(path, format="parquet"), "another")
    assert rows(path) == []
    for _ in range(2):
        FileSink().deleted(config(path, format="parquet"), "uid")
        assert rows(path) == [{"x": 1}]
    assert not (path / "_rocketconnect/uid/staged").exists()


def test_small_and_large_batches_make_the_same_lines(tmp_path: Path) -> None:
    values = [{"n": index, "f": index / 7, "s": f'"{index}",\n' if index % 3 else None, "l": [index]} for index in range(6000)]
    for form in ("csv", "jsonlines", "text"):
        large, small = Sinking(tmp_path / f"large.{form}", format=form), Sinking(tmp_path / f"small.{form}", format=form)
        large.write(values)
        small.write(values[:3000])
        small.write(values[3000:])
        assert (tmp_path / f"large.{form}").read_bytes() == (tmp_path / f"small.{form}").read_bytes()


def test_other_columns_do_not_go_into_the_same_csv_file(tmp_path: Path) -> None:
    sink = Sinking(tmp_path / "out.csv", format="csv")
    sink.write([{"a": 1}])
    with pytest.raises(PermanentError, match="belong into another file"):
        sink.write([{"b": 1}])
    again = Sinking(tmp_path / "out.csv", format="csv")
    with pytest.raises(PermanentError, match="belong into another file"):
        again.write([{"a": 1, "b": 1}])


def test_rows_with_another_delimiter_do_not_go_into_the_same_csv_file(tmp_path: Path) -> None:
    Sinking(tmp_path / "out.csv", format="csv").write([{"a": 1, "b": 2}])
    with pytest.raises(PermanentError, match="has ',' between its fields; rows with ';' belong into another file"):
        Sinking(tmp_path / "out.csv", format="csv", csv_delimiter=";").write([{"a": 1, "b": 2}])
    (tmp_path / "out.csv").rename(tmp_path / "old.csv")
    Sinking(tmp_path / "out.csv", uid="other", format="csv", csv_delimiter=";").write([{"a": 1, "b": 2}])
    assert (tmp_path / "out.csv").read_text() == '"a";"b"\n1;2\n'


def test_values_that_are_no_rows_are_one_column_where_a_configuration_is_let_through_with_them(tmp_path: Path) -> None:
    sink = Sinking(tmp_path / "out", format="parquet")
    sink.write(["a", "b"])
    assert rows(tmp_path / "out") == [{"value": "a"}, {"value": "b"}]
    assert [path.name for path in (tmp_path / "out").glob("*.parquet")] == ["t-b-q0.0-2.snappy.parquet"]


def test_a_name_that_another_connector_has_used_is_not_taken_again(tmp_path: Path) -> None:
    path = tmp_path / "out"
    Sinking(path, uid="one", format="parquet").write(["a"] * 20)
    Sinking(path, uid="two", format="parquet").write(["b", "c"])
    Sinking(path, uid="three", format="parquet").write(["d", "e"])
    names = sorted(path.name for path in path.glob("*.parquet"))
    assert names == ["t-b-q0.0-2-2.snappy.parquet", "t-b-q0.0-2.snappy.parquet", "t-b-q0.0-20.snappy.parquet"]


def test_columns_make_a_table_of_json(tmp_path: Path) -> None:
    sink = Sinking(tmp_path / "out", format="parquet", columns="id:int64,name")
    sink.write(['{"id": 1, "name": "ü"}', '{"id": 2}'])
    assert rows(tmp_path / "out") == [{"id": 1, "name": "ü"}, {"id": 2, "name": None}]


def test_columns_of_types_that_spark_lacks_are_written_as_it_has_them(tmp_path: Path) -> None:
    columns = (
        "d:decimal(7,2), day:date, t:time, at:timestamp, n:timestamp_ntz(ns), u:uuid, j:json, b:bytes, big:uint64, small:uint8"
    )
    sink = Sinking(tmp_path / "out", format="parquet", columns=columns)
    texts = '"d":1.5,"day":"2024-02-29","t":"00:00:01","at":"2024-02-29T01:02:03Z","n":"1970-01-01 00:00:00.000000007"'
    sink.write([f'{{{texts},"u":"{ID}","j":[1],"b":"QQ==","big":18446744073709551615,"small":255}}', '{"d":"-0.05"}'])
    first, second = rows(tmp_path / "out")
    assert first == {
        "d": Decimal("1.50"),
        "day": date(2024, 2, 29),
        "t": 1_000_000,
        "at": datetime(2024, 2, 29, 1, 2, 3),  # noqa: DTZ001  # Spark's files count from 1970 and name no zone
        "n": 7,
        "u": ID,
        "j": "[1]",
        "b": b"A",
        "big": Decimal((1 << 64) - 1),
        "small": 255,
    }
    assert second == {**dict.fromkeys(first), "d": Decimal("-0.05")}


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_a_directory_takes_the_columns_again_that_were_written_to_it_and_refuses_other_types(tmp_path: Path, form: str) -> None:
    columns = "s, i:int8, u:uint64, f:float, y:bytes, day:date, t:time, at:timestamp, local:timestamp_ntz, id:uuid, p:decimal(7,2)"
    Sinking(tmp_path / "out", format=form, columns=columns).write(['{"s": "x"}'])
    assert list(FileSink().check(config(tmp_path / "out", format=form, columns=columns))) == []
    (problem,) = FileSink().check(config(tmp_path / "out", format=form, columns=columns.replace("int8", "int64")))
    assert "makes the column i int64" in problem.reason
    assert "has it as int8" in problem.reason


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet", "orc"])
@pytest.mark.parametrize("count", [3, 3_000, 6_000])
def test_of_a_batch_with_values_that_are_no_rows_nothing_is_written_and_they_are_known(
    tmp_path: Path, form: str, count: int
) -> None:
    sink = Sinking(tmp_path / "out", format=form, columns="id:int64")
    values = ['{"id": 1}'] * count
    values[1], values[count - 1] = "no json", '{"id": "x"}'
    with pytest.raises(RecordError, match=r"is not JSON|column `id`"):
        sink.write(values)
    assert (tmp_path / "out").read_text() == "" if form == "csv" else not list((tmp_path / "out").glob("t-*"))
    assert list(sink.task.unwritable(pa.array(values))) == [1, count - 1]
    sink.write(values[2:-1] or values[:1])
    assert (tmp_path / "out").read_text() if form == "csv" else list((tmp_path / "out").glob("t-*"))


@pytest.mark.parametrize("form", ["text", "parquet"])
def test_positions_without_records_are_stored_with_the_target(tmp_path: Path, form: str) -> None:
    sink = Sinking(tmp_path / "out", format=form)
    sink.write(["a"])
    marks = {"uid/p": SourceMark(3, 0, (9,))}
    commit = SinkCommit("uid", 0, 1, {QUEUE: QueuePosition(1)}, {QUEUE: QueuePosition(5, 0, marks)}, 0, "moved")
    sink.task.move(commit)
    sink.task.move(commit)
    assert sink.task.start() == {QUEUE: QueuePosition(5, 0, marks)}
    assert len([path for path in (tmp_path / "out").glob("t-*") if path.is_file()]) == (form == "parquet")


def test_tasks_and_connectors_share_a_directory(tmp_path: Path) -> None:
    path = tmp_path / "out"
    tasks = [Sinking(path, task=number, queue=f"t/b/{number}", format="parquet") for number in range(2)]
    other = Sinking(path, uid="other/uid", queue="u/b/0", format="parquet")
    for text in "xy":
        for number, task in enumerate(tasks):
            task.write([f"{text}{number}"])
    other.write(["other"])
    assert sorted(row["value"] for row in rows(path)) == ["other", "x0", "x1", "y0", "y1"]


def test_of_two_tasks_that_change_the_columns_at_once_the_second_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "out"
    first, second = Sinking(path, queue="t/b/0", format="parquet"), Sinking(path, task=1, queue="t/b/1", format="parquet")
    number, text = Schema(Type.INT64), Schema(Type.STRING)
    first.task.columns_for(struct([("a", number)]))
    first.write([{"a": 1}])
    # Both have looked, and neither has written.
    first.task.columns_for(struct([("a", number), ("b", text)]))
    second.task.columns_for(struct([("a", number), ("b", number)]))
    first.write([{"a": 2, "b": "x"}])
    with pytest.raises(RetriableError, match="another task has changed the columns"):
        second.write([{"a": 3, "b": 3}])
    assert second.task.columns_for(struct([("a", number), ("b", number)])) == first.task.columns_for(struct([("b", text)]))
    # What has the columns from before goes on.
    second.task.columns_for(struct([("a", number)]))
    second.write([{"a": 4, "b": None}], pa.struct([("a", pa.int64()), ("b", pa.string())]))
    assert sorted(row["a"] for row in rows(path)) == [1, 2, 4]


def test_only_a_directory_of_files_has_many_tasks(tmp_path: Path) -> None:
    plans = {
        form: len(FileSink().plan(config(tmp_path / "x", format=form), 4).tasks)
        for form in ("text", "csv", "jsonlines", "parquet", "orc")
    }
    assert plans == {"text": 1, "csv": 1, "jsonlines": 1, "parquet": 4, "orc": 4}


def test_tables_wait_for_a_minute_and_lines_do_not(tmp_path: Path) -> None:
    def interval(**options: str) -> float:
        return FileSink().open(config(tmp_path / "x", **options), {}, TaskContext()).flush.interval

    assert (interval(), interval(format="parquet"), interval(format="orc", flush_interval="5s")) == (0.0, 60.0, 5.0)


def file_problems(filename: str) -> list[str]:
    return [problem.reason for problem in FileSink().check(config(Path(filename)))]


def test_targets_without_the_right_to_write_them_are_refused(
    tmp_path: Path, as_plain_user: Callable[[Callable[[str], object], str], object]
) -> None:
    for name, rights in (("locked", 0o555), ("open", 0o777)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("")
        (tmp_path / name / "file").chmod(0o444)
        (tmp_path / name).chmod(rights)
    assert as_plain_user(file_problems, "locked/new") == ["is in a directory that cannot be written to"]
    assert as_plain_user(file_problems, "open/file") == ["cannot be written to"]
    assert as_plain_user(file_problems, "open/new") == []


def test_targets_and_options_that_cannot_be_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = [
        [problem.key for problem in FileSink().check(config(tmp_path / name, **options))]
        for name, options in [
            ("", {}),
            ("file", {"format": "parquet"}),
            ("no/where", {}),
            ("x", {"columns": "a"}),
            ("x", {"csv_header": "true"}),
            ("x", {"format": "csv", "columns": "a", "csv_delimiter": "\\t"}),
            ("x", {"schema_evolution": "ignore"}),
            ("x", {"format": "csv", "schema_evolution": "evolve"}),
            ("x", {"format": "csv", "schema_evolution": "ignore"}),
            ("x", {"format": "orc", "schema_evolution": "evolve"}),
            ("x", {"format": "orc", "schema_evolution": "evolve", "columns": "a"}),
        ]
    ]
    none: list[str] = []
    files = [["filename"], ["filename"], ["filename"]]
    evolution = [["schema.evolution"], ["schema.evolution"], none, none, ["schema.evolution"]]
    assert found == [*files, ["columns"], ["csv.header"], none, *evolution]


def test_a_batch_that_counts_gets_its_names_when_that_works_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Sinking(tmp_path / "out", format="parquet")
    real = os.rename

    def full(source: str, target: str, **folders: int) -> None:
        monkeypatch.setattr(os, "rename", real)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(SystemAway):
        sink.write(["a", "b"])
    sink.write(["a", "b"])
    assert [row["value"] for row in rows(tmp_path / "out")] == ["a", "b"]


@pytest.mark.parametrize("form", ["text", "csv", "jsonlines", "parquet", "orc"])
@pytest.mark.parametrize("lost", ["all", "one part"])
def test_a_batch_of_which_the_driver_does_not_see_all_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, lost: str
) -> None:
    """As on a remote master without a shared path: tasks write to the disks of their own machines."""
    monkeypatch.setattr(dataset, "_ROWS_OF_A_FILE", 5_000)
    module = dataset if form in ("parquet", "orc") else single

    def elsewhere(directory: Path) -> str:
        directory.mkdir(parents=True, exist_ok=True)
        return jobs.uri(tmp_path / "worker" / directory.name)

    def without_first(directory: Path) -> list[Path]:
        jobs.parts_of(directory)[0].unlink()
        return jobs.parts_of(directory)

    values = [f"{index}\n, ü" if index % 3 else "" for index in range(6_000)]
    sink = Sinking(tmp_path / "out", format=form)
    with monkeypatch.context() as patch:
        if lost == "all":
            patch.setattr(module, "uri", elsewhere)
        else:
            patch.setattr(module, "parts_of", without_first)
        seen = r"sees 0, in 0" if lost == "all" else r"sees [1-9]\d*, in [1-9]"
        with pytest.raises(
            PermanentError, match=rf"out.*(rows|bytes) that Spark has written, the driver {seen}.*Set filename to such a path"
        ):
            sink.write(values)
    assert sink.task.start() == {}
    sink.write(values)
    assert sink.task.start() == {QUEUE: QueuePosition(len(values))}
    if module is single:
        small = Sinking(tmp_path / "small", format=form)
        small.write(values[:3_000])
        small.write(values[3_000:])
        assert (tmp_path / "out").read_bytes() == (tmp_path / "small").read_bytes()
    else:
        assert pads.dataset(tmp_path / "out", format=form).count_rows() == len(values)


def test_what_spark_tells_late_is_waited_for_and_what_it_never_tells_is_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = spark_session().createDataFrame([("one",), ("three",)], "value string")
    late, never = jobs.CountedLines(lines), jobs.CountedLines(lines)
    with ThreadPoolExecutor(1) as other:
        size = other.submit(late.size)
        # Longer than Spark's own wait for it.
        time.sleep(0.3)
        late.frame.write.text(str(tmp_path / "late"))
        assert size.result(60) == len("one\nthree\n")
    monkeypatch.setattr(jobs, "_COUNT_SECONDS", 0.1)
    with pytest.raises(RetriableError, match="did not say within"):
        never.size()
