"""What sources of lakes say that they read."""

from pathlib import Path

import pytest

from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.origins.origin import Origin


def delta(root: Path) -> dict[str, str]:
    return {"connector.class": "delta_source", "path": str(root / "shop" / "orders")}


def iceberg(root: Path) -> dict[str, str]:
    return {"connector.class": "iceberg_source", "warehouse": str(root), "table": "shop.orders"}


@pytest.mark.parametrize("config", [delta, iceberg])
def test_a_table_is_the_same_by_any_link_to_it_and_another_one_is_not(tmp_path: Path, config: object) -> None:
    assert callable(config)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    def origins(root: Path) -> list[Origin]:
        return list(check_connector({**config(root), "topic": "orders"}).origins or ())

    (real,), (link,), (other,) = (origins(tmp_path / name) for name in ("real", "link", "other"))
    assert real.overlaps(link)
    assert not real.overlaps(other)
