import gzip
from pathlib import Path

import pytest

from connectors.file_source import FileSource
from rocketconnect_sdk.conformance import SourceCase, SourceSuite

LINES = ["first", "", "ünï", "with\ttab", "x" * 300, "last"]


class TestTextLines(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        path = tmp_path / "lines.txt"
        path.write_text("".join(f"{line}\n" for line in LINES))
        return SourceCase(FileSource(), {"filename": str(path)}, LINES)


class TestTextLinesToTheEnd(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        path = tmp_path / "lines.txt"
        path.write_bytes("\r\n".join(LINES).encode())
        return SourceCase(FileSource(), {"filename": str(path), "follow": "false"}, LINES)


class TestGzip(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        path = tmp_path / "lines.gz"
        path.write_bytes(b"".join(gzip.compress(f"{line}\n".encode()) for line in LINES))
        return SourceCase(FileSource(), {"filename": str(path)}, LINES)


class TestGlob(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        for number in range(7):
            (tmp_path / f"part-{number}.log").write_text(f"one {number}\ntwo {number}\n")
        (tmp_path / "other.txt").write_text("not this\n")
        expected = [f"{word} {number}" for number in range(7) for word in ("one", "two")]
        return SourceCase(FileSource(), {"filename": f"{tmp_path}/*.log"}, expected)


class TestCsv(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        path = tmp_path / "rows.csv"
        path.write_text('id,name,price\n1,"a, ""b""\nc",1.5\n\n2,,\n3,ü,-1\n')
        options = {"filename": str(path), "format": "csv", "columns": "id:int64,price:double", "key.field": "id"}
        rows = [(1, 'a, "b"\nc', 1.5), (2, "", None), (3, "ü", -1.0)]
        return SourceCase(FileSource(), options, [dict(zip(("id", "name", "price"), row, strict=True)) for row in rows])


class TestJsonLines(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        path = tmp_path / "rows.jsonl"
        path.write_text('{"id": 1, "x": [1, 2.5]}\n\n[1]\n"text"\nnull\n{"id": "b"}\n')
        options = {"filename": str(path), "format": "jsonlines", "key.field": "id"}
        return SourceCase(FileSource(), options, [{"id": 1, "x": [1, 2.5]}, [1], "text", None, {"id": "b"}])
