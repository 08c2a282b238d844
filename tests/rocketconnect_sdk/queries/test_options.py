from pathlib import Path

import pytest

from rocketconnect_sdk.configuration.connector_options import check_connector, parse_sink
from rocketconnect_sdk.permissions.roots import READ_ROOTS, WRITE_ROOTS
from rocketconnect_sdk.plugins.loader import find
from rocketconnect_sdk.queries.options import QUERY, column_problems
from rocketconnect_sdk.schema import STRING, struct
from rocketconnect_sdk.sink import Sink

COUNT = "SELECT window_start, count(*) AS n FROM records GROUP BY ALL"


def problems(tmp_path: Path, **config: str) -> list[tuple[str, str]]:
    given = {"connector.class": "object_store_sink", "topics": "t", "url": f"file://{tmp_path}/out", "value.converter": "arrow"}
    checked = check_connector({**given, **{key.replace("_", "."): value for key, value in config.items()}})
    return [(problem.key, problem.reason) for problem in checked.problems if not problem.is_warning]


def test_a_query_with_its_tables_and_its_window_is_right(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("id,name\n1,a\n")
    table = str(tmp_path / "c.csv")
    assert problems(tmp_path, query="SELECT * FROM records JOIN c USING (id)", query_tables_c=table) == []
    assert problems(tmp_path, query=COUNT, query_window="1m", query_state=str(tmp_path)) == []
    by = {"query_deduplicate_by": "id", "query_deduplicate_within": "1h", "query_state": str(tmp_path)}
    assert problems(tmp_path, **by) == []


@pytest.mark.parametrize(
    ("config", "key", "reason"),
    [
        ({"query": "SELECT no_such(id) FROM records"}, "query", "unknown function"),
        ({"query": COUNT}, "query", "there is no watermark"),
        ({"query_window": "1m"}, "query.window", "is for a query, and there is none"),
        ({"query": COUNT, "query_window": "1m"}, "query.state", "is missing"),
        ({"query": COUNT, "query_window": "1m", "query_state": "/s", "max_tasks": "2"}, "max.tasks", "more than one task"),
        (
            {"query": COUNT, "query_window": "1m", "query_window_slide": "2m", "query_state": "/s"},
            "query.window.slide",
            "longer than the window",
        ),
        ({"query_deduplicate_by": "id", "query_state": "/s"}, "query.deduplicate.within", "is missing"),
        ({"query": "SELECT 1 AS x FROM records", "query_deduplicate_within": "1m"}, "query.deduplicate.within", "no columns tell"),
        ({"query": "SELECT 1 AS x FROM records", "query_tables_c": "/no/c.csv"}, "query.tables.c", "cannot be read"),
        ({"query": "SELECT 1 AS x FROM records", "query_tables_c": "/no/c.txt"}, "query.tables.c", "no ending"),
        ({"query": "SELECT 1 AS x FROM records", "query_tables_a-b": "/no/c.csv"}, "query.tables.a-b", "not a name"),
    ],
)
def test_what_is_wrong_is_told_with_its_key(tmp_path: Path, config: dict[str, str], key: str, reason: str) -> None:
    found = dict(problems(tmp_path, **config))
    assert reason in found[key]


def test_files_are_read_and_states_written_beneath_the_roots_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c.csv").write_text("id,name\n1,a\n")
    monkeypatch.setenv(READ_ROOTS, "/data")
    monkeypatch.setenv(WRITE_ROOTS, "/data")
    config = {"query_tables_c": str(tmp_path / "c.csv"), "query_window": "1m", "query_state": str(tmp_path)}
    found = dict(problems(tmp_path, query="SELECT * FROM records JOIN c USING (id)", **config))
    assert "not where this executor lets connectors read" in found["query.tables.c"]
    assert "not where this executor lets connectors write" in found["query.state"]


def test_columns_that_the_newest_rows_do_not_have_are_a_warning(tmp_path: Path) -> None:
    plugin = find("object_store_sink")
    assert isinstance(plugin, Sink)
    text = "SELECT ID, nmae, window_start FROM records"
    config = parse_sink(plugin, {"connector.class": "object_store_sink", "topics": "t", "url": "file:///tmp/x", QUERY.key: text})
    (problem,) = column_problems(config, {"t": struct([("id", STRING), ("name", STRING)])})
    assert problem.is_warning
    assert "names nmae, which the newest messages of t do not have: id, name" in problem.reason
