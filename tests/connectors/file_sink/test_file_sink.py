"""What is particular to the file sink, with Spark."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
import pytest

from connectors.file_sink import FileSink
from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.sink import DataFrameSinkTask, QueuePosition, SinkCommit

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
QUEUE = "t/b/0"


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
    assert path.read_bytes() == b'a\xff\n\n\n{"x":1}\n' + "ü\n".encode() * 6000 + b"\xff\xfe\n" * 6000


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


def test_text_without_a_schema_is_one_column(tmp_path: Path) -> None:
    sink = Sinking(tmp_path / "out", format="parquet")
    sink.write(["a", "b"])
    assert rows(tmp_path / "out") == [{"value": "a"}, {"value": "b"}]
    assert [path.name.partition(".")[0] for path in (tmp_path / "out").glob("*.parquet")] == ["t-b-0-0-2"]


def test_columns_make_a_table_of_json(tmp_path: Path) -> None:
    sink = Sinking(tmp_path / "out", format="parquet", columns="id:int64,name")
    sink.write(['{"id": 1, "name": "ü"}', '{"id": 2}'])
    assert rows(tmp_path / "out") == [{"id": 1, "name": "ü"}, {"id": 2, "name": None}]
    with pytest.raises(PermanentError, match="column id"):
        sink.write(['{"id": "x"}'])


def test_a_value_that_is_no_row_ends_a_csv_task_with_its_reason(tmp_path: Path) -> None:
    small = Sinking(tmp_path / "small", format="csv", columns="id:int64")
    with pytest.raises(PermanentError, match="is not JSON"):
        small.write(["no json"])
    large = Sinking(tmp_path / "large", format="csv", columns="id:int64")
    with pytest.raises(PermanentError, match="is not JSON"):
        large.write(["no json"] * 6000)
    assert (tmp_path / "large").read_text() == ""


def test_tasks_and_connectors_share_a_directory(tmp_path: Path) -> None:
    path = tmp_path / "out"
    tasks = [Sinking(path, task=number, queue=f"t/b/{number}", format="parquet") for number in range(2)]
    other = Sinking(path, uid="other/uid", queue="u/b/0", format="parquet")
    for text in "xy":
        for number, task in enumerate(tasks):
            task.write([f"{text}{number}"])
    other.write(["other"])
    assert sorted(row["value"] for row in rows(path)) == ["other", "x0", "x1", "y0", "y1"]


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
        ]
    ]
    assert found == [["filename"], ["filename"], ["filename"], ["columns"], ["csv.header"], []]
