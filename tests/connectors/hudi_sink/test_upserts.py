"""Rows and changes of rows, in the Java of Spark."""

from pathlib import Path

import pytest

from rocketconnect_sdk.errors import PermanentError
from tests.connectors.hudi_sink.tables import Hudi
from tests.connectors.lakes.changes import change, envelopes
from tests.connectors.lakes.keyed import KeyedSuite
from tests.connectors.lakes.table import UPSERT

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


class TestChanges(KeyedSuite):
    lake = Hudi


@pytest.mark.slow
def test_a_row_moves_to_another_partition_and_is_deleted_there_by_its_key(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Hudi(path).owner(UPSERT, partition_by="text")
    owner.start()
    owner.rows(k0="left", k1="left", k2="a/b c")
    owner.rows(k1="right")
    assert Hudi(path).texts() == {0: "left", 1: "right", 2: "a/b c"}
    owner.write([change("d", before={"id": number, "text": None}) for number in (1, 2)], envelopes(Hudi(path).rows))
    assert Hudi(path).texts() == {0: "left"}


@pytest.mark.slow
def test_a_table_with_another_key_is_refused(tmp_path: Path) -> None:
    keyed, plain = tmp_path / "keyed", tmp_path / "plain"
    owner = Hudi(keyed).owner(UPSERT)
    owner.start()
    owner.rows(k1="one")
    with pytest.raises(PermanentError, match=r"the table has the key id, and that of the records is id,text\. Set pk\.fields=id"):
        Hudi(keyed).owner({**UPSERT, "pk.fields": "id,text"}).start()
    appended = Hudi(plain).owner()
    appended.start()
    appended.append(0, 1, schema=Hudi(plain).rows)
    with pytest.raises(PermanentError, match=r"the table has no key, and that of the records is id\. Set insert\.mode=insert"):
        Hudi(plain).owner(UPSERT).start()
