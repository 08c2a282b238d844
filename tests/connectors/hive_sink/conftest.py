"""A metastore, and tables of which nobody has heard."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.connectors.hive_sink.table import Table
from tests.servers.hive_metastore import HiveMetastore, MetastoreFailed

_tables = count()


@pytest.fixture(scope="session")
def metastore() -> Iterator[HiveMetastore]:
    """A real one, of Hive 2.3."""
    try:
        with HiveMetastore().running() as server:
            yield server
    except MetastoreFailed as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def table(metastore: HiveMetastore, tmp_path: Path) -> Table:
    """One that is not there yet, in a folder that is not there yet."""
    return Table(metastore.uri, f"table{next(_tables)}", tmp_path / "disk" / "table")
