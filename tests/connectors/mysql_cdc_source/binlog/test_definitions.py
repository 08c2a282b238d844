"""Facts of a column are read from what information_schema shows."""

import pytest

from connectors.mysql_cdc_source.binlog.definitions import column_facts
from connectors.mysql_cdc_source.binlog.row_reading.table_map import ColumnFacts


@pytest.mark.parametrize(
    ("shown", "facts"),
    [
        (("a", "int", "int(11)", None), ColumnFacts("a", unsigned=False)),
        (("a", "bigint", "bigint(20) unsigned zerofill", None), ColumnFacts("a", unsigned=True)),
        (("a", "year", "year(4)", None), ColumnFacts("a", unsigned=True)),
        (("a", "varchar", "varchar(9)", "latin1"), ColumnFacts("a", charset="latin1")),
        (("a", "blob", "blob", None), ColumnFacts("a", unsigned=False, charset="binary")),
        (("a", "uuid", "uuid", None), ColumnFacts("a", unsigned=False, charset="binary", extension="uuid")),
        (
            ("a", "enum", "enum('a','b''c','d,e','')", "utf8mb4"),
            ColumnFacts("a", charset="utf8mb4", labels=("a", "b'c", "d,e", "")),
        ),
        (("unsigned", "enum", "enum(' unsigned')", "utf8mb4"), ColumnFacts("unsigned", charset="utf8mb4", labels=(" unsigned",))),
    ],
)
def test_a_column_is_what_it_shows(shown: tuple[str, str, str, str | None], facts: ColumnFacts) -> None:
    assert column_facts(*shown) == facts
