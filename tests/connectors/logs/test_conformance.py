"""What every source must do: log files of each kind."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from connectors.logs.log_source import LogSource
from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from tests.suites import slow_but

RECORDS = ["2026-01-01 first", "2026-01-02 second\n  at a.b\n\n  at c.d", "2026-01-03 ünï", "2026-01-04 last"]


def case_of(folder: Path, text: str, expected: Sequence[object], **options: str) -> SourceCase:
    path = folder / "app.log"
    path.write_text(text)
    given = {key.replace("_", "."): value for key, value in options.items()}
    return SourceCase(LogSource(), {"filename": str(path), **given}, expected)


class TestGathered(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        text = "".join(f"{record}\n" for record in [*RECORDS, "2026-01-05 goes on"])
        return case_of(tmp_path, text, RECORDS, multiline_start=r"^\d{4}-", multiline_timeout="0s")


@slow_but("test_from_every_offset_exactly_the_rest_is_read")
class TestGatheredInAnotherEncoding(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        options = {"multiline_start": "^2026", "multiline_timeout": "0s", "encoding": "latin-1"}
        case = case_of(tmp_path, "", RECORDS, **options)
        (tmp_path / "app.log").write_bytes("\n".join([*RECORDS, "2026 goes on\n"]).encode("latin-1"))
        return case


@slow_but("test_from_every_offset_exactly_the_rest_is_read")
class TestGatheredByWhatGoesOn(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        lines = [f"line {number}" for number in range(3)]
        options = {"multiline_continuation": r"^(\s|$)", "multiline_lines": "3", "follow": "false", "multiline_timeout": "0s"}
        text = "\r\n".join([*lines, " 1", " 2", " 3", " 4", "end"])
        return case_of(tmp_path, text, [*lines[:2], "line 2\n 1\n 2", " 3\n 4", "end"], **options)


@slow_but("test_from_every_offset_exactly_the_rest_is_read")
class TestLogfmt(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        expected = [{"level": "info", "msg": 'said "hi"\n'}, {"n": "1", "flag": True}]
        text = 'level=info msg="said \\"hi\\"\\n"\n\nn=1 flag\n'
        return case_of(tmp_path, text, list(expected), format="logfmt", key_field="n")


@slow_but("test_from_every_offset_exactly_the_rest_is_read")
class TestGrok(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        options = {"format": "grok", "grok": "%{IP:client} %{INT:bytes:int}", "unread_field": "message"}
        return case_of(
            tmp_path,
            "10.0.0.1 7\nelse\n::1 8\n",
            [{"client": "10.0.0.1", "bytes": 7}, {"message": "else"}, {"client": "::1", "bytes": 8}],
            **options,
        )


@slow_but("test_from_every_offset_exactly_the_rest_is_read")
class TestPlain(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        return case_of(tmp_path, "one\n\ntwo\n", ["one", "", "two"])
