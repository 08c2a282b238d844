"""Rows and changes of rows by MERGE."""

import json
from pathlib import Path

import pytest

from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketconnect_sdk.errors import PermanentError
from tests.connectors.delta_sink.tables import Delta
from tests.connectors.lakes.changes import QUEUE
from tests.connectors.lakes.keyed import KeyedSuite
from tests.connectors.lakes.table import UPSERT, LakeTable

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


class TestChanges(KeyedSuite):
    lake = Delta

    def says_with_it(self, table: LakeTable) -> None:
        newest = max((table.root / "_delta_log").glob("*.json"))
        actions = [json.loads(line) for line in newest.read_text().splitlines()]
        assert [each["txn"]["appId"] for each in actions if "txn" in each] == ["rocketconnect/uid/0"]
        assert any("add" in each for each in actions)
        (told,) = (json.loads(each["commitInfo"]["userMetadata"]) for each in actions if "commitInfo" in each)
        assert told == {"connector": "uid", "task": 0, "until": {QUEUE: 11}}


def test_a_table_without_the_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table"
    spark_session(Delta.settings()).range(2).write.format("delta").save(f"file://{path}")
    with pytest.raises(PermanentError, match="the table has no column name, which the key of its rows has"):
        Delta(path).owner(UPSERT, pk_fields="id,name").start()
