"""Releases are rolled to what this checkout is, and back, under load."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from rich.console import Console

from rocketconnect_cli.instance.topology import STORES
from rocketconnect_kit.store import database
from tests.chaos.load import Load, pipelines
from tests.deploy.releases import releases
from tests.upgrades.installed import TABLES, Version, of_next, of_release
from tests.upgrades.rolling import EXECUTORS, EXPORTER, Rolling, kind_of

pytestmark = [pytest.mark.e2e, pytest.mark.rocketmq, pytest.mark.postgres, pytest.mark.slow]
RATE = 300
ORDER = ("config", "cluster", "state", "executor", "position", "gateway", EXPORTER)
"""That of docs/upgrade.md; the way back is the other way round."""


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Version:
    return of_release(releases()[0], tmp_path_factory.mktemp("before"))


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Version:
    return of_next(tmp_path_factory.mktemp("after"))


@pytest.fixture(params=[1, 2], ids=["files", "replicas"])
def rolling(request: pytest.FixtureRequest, tmp_path: Path, before: Version) -> Iterator[Rolling]:
    made = Rolling(tmp_path, before, request.param)
    try:
        made.begin(Load(tmp_path, tmp_path, pipelines(tmp_path, ("native",)), RATE))
        yield made
        made.load.pause()
    finally:
        made.fleet.close()


@pytest.mark.slow
def test_every_service_rolled_to_the_next_version_and_back_under_load_loses_and_doubles_nothing(
    rolling: Rolling, before: Version, after: Version, capsys: pytest.CaptureFixture[str]
) -> None:
    order = sorted(rolling.names, key=lambda name: (ORDER.index(kind_of(name)), name))
    try:
        for name in order:
            rolling.roll(name, after)
            if name == EXECUTORS[0]:
                # Two versions of executors in one cluster, and each of them has tasks.
                rolling.both_work()
                rolling.compare()
        rolling.settle()
        rolling.compare()
        for service in STORES:
            seen = store(rolling, service)
            assert seen == (before.newest(service), after.newest(service), True)
        assert "rocketconnect_connector_info" in rolling.metrics()
        for name in reversed(order):
            rolling.roll(name, before)
            if name == EXECUTORS[1]:
                rolling.both_work()
        rolling.settle()
        rolling.compare()
        assert all(rolling.runs(name, before) for name in order)
        assert "rocketconnect_connector_info" in rolling.metrics()
    finally:
        with capsys.disabled():
            Console(width=140).print(rolling.ledger())


def store(rolling: Rolling, service: str) -> tuple[str, str, bool]:
    """What 0.1.0 takes for its revision, which one it is, and whether what the last migration adds is there."""
    engine = database.engine(rolling.store_url(service))
    with database.reading(engine) as connection:
        mark = connection.exec_driver_sql(f"SELECT version_num FROM {service}_schema_version").scalar_one()
        last = connection.exec_driver_sql(f"SELECT max(revision) FROM {service}_schema").scalar_one()
    has = "of_next" in {column["name"] for column in sa.inspect(engine).get_columns(TABLES[service])}
    engine.dispose()
    return mark, last, has
