"""The order of the tests: files that start whole systems first, then those with servers, then the others.

Side by side, each worker of pytest-xdist gets a file at a time, in this order: what mostly waits is begun first, so that no
worker is left with it alone at the end. What shares one running instance, one Spark session or a server goes to one worker
together: to start the one or the other takes up to half a minute of both cores.
"""

from functools import cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

# What has none of these marks comes last.
_FIRST = ("e2e", "spark", "mariadb", "postgres", "rocketmq")
_TOGETHER = {
    "tests/e2e/": "instance",
    "tests/connectors/delta_sink/": "delta",
    "tests/connectors/delta_source/test_round_trip.py": "delta",
    "tests/connectors/iceberg_sink/": "iceberg",
    "tests/connectors/iceberg_source/test_round_trip.py": "iceberg",
    "tests/connectors/hudi_sink/": "hudi",
    "tests/connectors/hudi_source/": "hudi",
    "tests/connectors/hive_sink/": "hive",
    "tests/connectors/hive_source/": "hive",
    "tests/connectors/clickhouse/": "clickhouse",
    "tests/connectors/mysql_cdc_source/": "mysql_cdc",
    "tests/connectors/object_store_sink/": "objects",
    "tests/connectors/object_store_source/": "objects",
    "tests/connectors/postgres_cdc_source/": "postgres_cdc",
    "tests/connectors/file_sink/test_conformance.py": "spark",
    "tests/connectors/file_sink/test_file_sink.py": "spark",
    "tests/connectors/jdbc_sink/test_conformance.py": "spark",
    "tests/pairs/": "spark",
    "tests/pyspark_rocketmq/": "spark",
    "tests/services/executor/runtime/databases/test_database_to_database.py": "spark",
    "tests/services/executor/runtime/sink/test_evolution.py": "spark",
    "tests/services/executor/runtime/databases/test_jdbc_sink.py": "spark",
    "tests/services/executor/runtime/test_packed_tasks.py": "spark",
    "tests/services/executor/runtime/sink/spark/test_engines.py": "spark",
}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files in order, alike in all workers; within a file the order stays."""
    ranks: dict[str, int] = {}
    together = set(_TOGETHER.values())
    scopes = {item: scope_of(item.nodeid) for item in items}
    for item, scope in scopes.items():
        marks = {mark.name for mark in item.iter_markers()}
        rank = next((number for number, mark in enumerate(_FIRST) if mark in marks), len(_FIRST))
        ranks[scope] = min(rank, ranks.get(scope, rank))
    items.sort(key=lambda item: (ranks[scopes[item]], scopes[item] not in together))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer | None") -> "LoadScopeScheduling":
    """Hand out files, and what belongs together, as a whole."""
    from xdist.scheduler import LoadScopeScheduling

    class Files(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

    config.option.loadscopereorder = False
    return Files(config, log)


def scope_of(nodeid: str) -> str:
    """What goes to one worker together with this test: its file, or a group of files."""
    return _scope_of_file(nodeid.partition("::")[0])


@cache
def _scope_of_file(path: str) -> str:
    return next((scope for start, scope in _TOGETHER.items() if path.startswith(start)), path)
