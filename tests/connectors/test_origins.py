"""What sources of lakes and of objects say that they read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.origins.origin import Origin


def delta(root: Path) -> dict[str, str]:
    return {"connector.class": "delta_source", "path": str(root / "shop" / "orders")}


def iceberg(root: Path) -> dict[str, str]:
    return {"connector.class": "iceberg_source", "warehouse": str(root), "table": "shop.orders"}


def hudi(root: Path) -> dict[str, str]:
    return {"connector.class": "hudi_source", "path": str(root / "orders")}


def objects(root: Path) -> dict[str, str]:
    return {"connector.class": "object_store_source", "url": f"file://{root}", "pattern": "*.parquet"}


@pytest.mark.parametrize("config", [delta, iceberg, hudi, objects])
def test_what_is_read_is_the_same_by_any_link_to_it_and_another_one_is_not(
    tmp_path: Path, config: Callable[[Path], dict[str, str]]
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    def origins(root: Path) -> list[Origin]:
        return list(check_connector({**config(root), "topic": "orders"}).origins or ())

    (real,), (link,), (other,) = (origins(tmp_path / name) for name in ("real", "link", "other"))
    assert real.overlaps(link)
    assert not real.overlaps(other)
