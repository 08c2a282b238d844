"""The Delta sink with Spark: what all lakes do, and what is particular to it."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from connectors.delta_sink import table
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.schema import OPTIONAL_STRING, struct
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.delta_sink.tables import Delta
from tests.connectors.lakes.changes import NUMBER, QUEUE
from tests.connectors.lakes.owners import OwnersSuite
from tests.connectors.lakes.smoke import SmokeSuite
from tests.connectors.lakes.table import LakeTable, commit_of

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


class TestSmoke(SmokeSuite):
    lake = Delta


@pytest.mark.slow
class TestOwners(OwnersSuite):
    lake = Delta

    def is_clean(self, table: LakeTable) -> None:
        """Of the files with positions the newest one is left."""
        assert len(list((table.root / "_rocketconnect" / "uid").iterdir())) == 1


@pytest.mark.slow
def test_a_table_that_forgets_its_writers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Delta(path).owner()
    owner.start()
    owner.append(0, 1)
    forgets = "'delta.setTransactionRetentionDuration' = 'interval 1 days'"
    spark_session(Delta.settings()).sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ({forgets})")
    with pytest.raises(PermanentError, match=r"Run ALTER TABLE .* UNSET TBLPROPERTIES"):
        Delta(path).owner(owner=(1, 2)).start()


@pytest.mark.slow
def test_a_file_of_a_commit_that_is_not_where_it_was_written_is_told_with_the_way_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table"
    owner = Delta(path).owner()
    owner.start()
    owner.append(0, 10)
    before = set(path.glob("*.parquet"))
    appends: Callable[..., None] = table.append

    def elsewhere(*given: object) -> None:
        appends(*given)
        (new,) = set(path.glob("*.parquet")) - before
        new.unlink()

    monkeypatch.setattr(table, "append", elsewhere)
    version = DeltaTable(str(path)).version()
    told = rf"does not see 1 file of version {version + 1} of the table, such as .*Restore the table to version {version},"
    with pytest.raises(PermanentError, match=told):
        owner.append(10, 20)


@pytest.mark.slow
def test_the_history_tells_the_position_of_each_state(tmp_path: Path) -> None:
    """As docs/delta.md looks for one."""
    path = tmp_path / "table"
    owner = Delta(path).owner()
    owner.start()
    for begin in (0, 10, 20):
        owner.append(begin, begin + 10)
    owner.append(0, 5, queue=1)
    told = [json.loads(each.get("userMetadata", "{}")) for each in DeltaTable(str(path)).history()]
    zero, one = "orders/broker-a/0", "orders/broker-a/1"
    assert [each["until"] for each in told if each] == [{zero: 30, one: 5}, {zero: 30}, {zero: 20}, {zero: 10}]
    assert told[0] == {"connector": "uid", "task": 0, "until": {zero: 30, one: 5}}
    document = (Path(__file__).parents[3] / "docs" / "delta.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", document, re.DOTALL | re.MULTILINE)
    found: dict[str, DeltaTable] = {}
    exec(code.replace("/data/orders", str(path)).replace("1000000", "25"), found)
    assert found["table"].to_pyarrow_table().num_rows == 20


@pytest.mark.slow
def test_vacuum_leaves_the_positions(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Delta(path).owner()
    owner.start()
    owner.append(0, 10)
    session = spark_session(Delta.settings())
    session.sql(f"VACUUM delta.`file://{path}` RETAIN 0 HOURS").collect()
    assert Delta(path).owner(owner=(1, 2)).start() == {"orders/broker-a/0": QueuePosition(10)}


def test_a_text_that_delta_would_make_null_in_the_name_of_a_partition_is_told_by_row(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Delta(path).owner(partition_by="country")
    owner.start()
    schema = struct([("id", NUMBER), ("country", OPTIONAL_STRING)], name="row")
    values = [{"id": number, "country": country} for number, country in enumerate(["ch", "", "__HIVE_DEFAULT_PARTITION__", None])]
    with pytest.raises(RecordError, match="the column country is '', which would become null"):
        owner.put(values, schema, commit_of(QUEUE, 0, 4))
    assert list(owner.task.unwritable(to_array(values, schema))) == [1, 2]
    owner.put([values[0], values[3]], schema, commit_of(QUEUE, 0, 4))
    assert sorted((row["id"], row["country"]) for row in Delta(path).read()) == [(0, "ch"), (3, None)]
