"""Pipelines that people build, with everything in them killed: in the end each target has what the source has, row by row."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rocketconnect_cli.instance.topology import SPARK_WARM
from tests.databases.mariadb import PASSWORD_NAME, MysqlSide
from tests.databases.run import Plan, run
from tests.pipelines.pipeline import Pipeline
from tests.pipelines.sources import Ocean, Shop
from tests.pipelines.targets import Cache, Lake, OceanTarget, Search, Target
from tests.servers.mariadb import PASSWORD

pytestmark = [pytest.mark.e2e, pytest.mark.rocketmq, pytest.mark.slow]
_ROWS, _LARGE = 1_500, 300
_PAUSE = (7.0, 12.0)
_RATE = 80


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[MysqlSide, Sequence[Target]], None]:
    monkeypatch.setenv(PASSWORD_NAME, PASSWORD)
    # A driver that is ready and has no task is none that is worth a kill.
    monkeypatch.setenv(SPARK_WARM, "false")

    def made(source: MysqlSide, targets: Sequence[Target]) -> None:
        with Pipeline(tmp_path, source, targets) as pipeline:
            kills = len(pipeline.all_victims) + 1
            changes = int(kills * sum(_PAUSE) / 2 * _RATE)
            run(pipeline, Plan(11, _ROWS, changes, kills, _LARGE, _RATE, _PAUSE), print)
            assert set(pipeline.kills) == pipeline.all_victims

    return made


@pytest.mark.spark
@pytest.mark.mariadb
def test_an_index_a_lake_and_a_cache_become_the_tables_of_mariadb_though_everything_is_killed(
    runs: Callable[[MysqlSide, Sequence[Target]], None], tmp_path: Path
) -> None:
    runs(Shop(), (Search(), Lake(tmp_path), Cache()))


@pytest.mark.mariadb
def test_oceanbase_becomes_the_tables_of_mariadb_though_everything_is_killed(
    runs: Callable[[MysqlSide, Sequence[Target]], None],
) -> None:
    runs(Shop(), (OceanTarget(),))


def test_an_index_becomes_the_tables_of_oceanbase_though_everything_is_killed(
    runs: Callable[[MysqlSide, Sequence[Target]], None],
) -> None:
    runs(Ocean(), (Search(),))
