import pickle
from pathlib import Path

import pytest

from connectors.file_lines import FileLines
from connectors.file_sink import FileSink
from rocketconnect_sdk.columns.compact import Texts
from rocketconnect_sdk.conformance import SinkCase
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import QueuePosition, SinkCommit, SinkWriter
from tests.suites import FewerKills


class TestConformance(FewerKills):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SinkCase:
        path = tmp_path / "out.txt"
        return SinkCase(FileLines(), {"filename": str(path)}, lambda: path.read_text().splitlines(), directory=tmp_path)


def test_large_batches_of_another_process_are_staged_in_files_that_go_with_the_batch(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    sink = FileLines()
    task = sink.open(parse(sink.options, {"filename": str(path), "format": "jsonlines"}), {}, TaskContext())
    task.start()
    batch = SinkBatch("t/b/0", "t", ["x" * 100] * 50_000, range(50_000))
    writer: SinkWriter = pickle.loads(pickle.dumps(task.writer()))
    receipts = [writer.stage(batch, f"part-{number}") for number in range(2)]
    staged = tmp_path / ".out.txt.rocketconnect" / "staged"
    assert sorted(file.name for file in staged.iterdir()) == ["part-0", "part-1"]
    task.abort(receipts[:1])
    task.commit(
        receipts[1:], SinkCommit("test", 0, 1, {"t/b/0": QueuePosition(0)}, {"t/b/0": QueuePosition(50_000)}, 50_000, "token")
    )
    assert list(staged.iterdir()) == []
    assert path.read_text() == f'"{"x" * 100}"\n' * 50_000


def test_in_one_process_a_large_batch_needs_no_file(tmp_path: Path) -> None:
    sink = FileLines()
    task = sink.open(parse(sink.options, {"filename": str(tmp_path / "out.txt")}), {}, TaskContext())
    task.start()
    values = Texts.of([b"x" * 100] * 50_000)
    assert task.writer().stage(SinkBatch("t/b/0", "t", values, range(50_000)), "part") == (b"x" * 100 + b"\n") * 50_000
    assert list((tmp_path / ".out.txt.rocketconnect" / "staged").iterdir()) == []


@pytest.mark.parametrize("name", ["out.txt", "./out.txt", "../out.txt", "~/out.txt"])
@pytest.mark.parametrize("sink", [FileLines(), FileSink()])
def test_a_relative_path_is_refused_with_the_form_that_is_right(sink: FileLines | FileSink, name: str) -> None:
    (problem,) = sink.check(parse(sink.options, {"filename": name}))
    assert problem.reason == "is a relative path, and a worker has a directory of its own"
    assert problem.fix == "Give an absolute path, such as /DIRECTORY/out.txt."


@pytest.mark.parametrize(
    ("name", "reason"),
    [("no/file", "does not exist"), ("", "not the name of a file"), ("x" * 201, "more than 200 bytes"), ("a\nb", "not the name")],
)
def test_a_target_that_cannot_be_is_refused_before(tmp_path: Path, name: str, reason: str) -> None:
    sink = FileLines()
    (problem,) = sink.check(parse(sink.options, {"filename": f"{tmp_path}/{name}"}))
    assert reason in problem.reason or (name == "" and problem.reason == "is a directory")


def test_one_file_has_one_task(tmp_path: Path) -> None:
    sink = FileLines()
    assert len(sink.plan(parse(sink.options, {"filename": str(tmp_path / "x")}), 8).tasks) == 1
