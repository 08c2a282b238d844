"""Rows that change without being in the log."""

import pytest

from connectors.postgres_cdc_source.shapes import Shapes
from rocketconnect_sdk.database_logs.task import LogTask
from tests.connectors.postgres_cdc_source.capturing import Shop, capturing, is_streaming


def test_what_the_log_has_no_rows_of_is_told(shop: Shop, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LogTask, "look_seconds", 0.05)
    name = shop.name
    shop.run(
        f"CREATE TABLE {name}.root (id int PRIMARY KEY, a int) PARTITION BY RANGE (id)",
        *(f"CREATE TABLE {name}.p{at} PARTITION OF {name}.root FOR VALUES FROM ({at}0) TO ({at}9)" for at in range(1, 3)),
        f"CREATE TABLE {name}.other (id int PRIMARY KEY)",
        f"CREATE TABLE {name}.swapped (id int PRIMARY KEY)",
        f"INSERT INTO {name}.root VALUES (10, 1), (20, 2)",
    )
    with capturing(shop.config(table_exclude=rf"{name}\.(later|new)")) as captured:
        captured.until(is_streaming)

        def told(*statements: str, text: str) -> None:
            caplog.clear()
            shop.run(*statements)
            captured.until(lambda _: text in caplog.text)
            assert caplog.text.count("WARNING") == 1, caplog.text

        told(f"TRUNCATE {name}.p1", text=f"{name}.root: the partition {name}.p1 was emptied")
        assert f"execute-snapshot tables={name}.root" in caplog.text
        told(f"ALTER TABLE {name}.root DETACH PARTITION {name}.p2", text=f"the partition {name}.p2 was dropped or detached")
        shop.run(
            f"CREATE TABLE {name}.later (id int PRIMARY KEY, a int)",
            f"CREATE TABLE {name}.p4 PARTITION OF {name}.root FOR VALUES FROM (40) TO (49)",
        )
        attach = f"ALTER TABLE {name}.root ATTACH PARTITION {name}.later FOR VALUES FROM (30) TO (39)"
        told(attach, text=f"the partition {name}.later was attached")
        told(f"ALTER TABLE {name}.other ADD b int DEFAULT 5", text=f"{name}.other: the column b was added with values")
        told(f"ALTER TABLE {name}.other ALTER b TYPE bigint", text="the column b was altered")
        told(f"ALTER TABLE {name}.other ALTER b TYPE bigint USING b + 1", text=f"{name}.other: it was written anew")
        told(f"ALTER TABLE {name}.other DROP b", text="the column b was dropped")
        swap = (f"ALTER TABLE {name}.swapped RENAME TO new", f"CREATE TABLE {name}.swapped (id int PRIMARY KEY)")
        told("BEGIN", *swap, "COMMIT", text=f"{name}.swapped: another table of this name is there")

        # What the log has, and what changes no rows.
        caplog.clear()
        shop.run(
            f"INSERT INTO {name}.root VALUES (11, 1)",
            f"TRUNCATE {name}.root",
            f"ALTER TABLE {name}.other ADD c int",
            f"TRUNCATE {name}.other",
            f"INSERT INTO {name}.other VALUES (7, 8)",
        )
        captured.until(lambda so_far: ("c", {"id": 7, "c": 8}) in so_far.ops())
        looked: list[object] = []
        look = Shapes.look
        monkeypatch.setattr(Shapes, "look", lambda *given: looked.append(look(*given)))
        captured.until(lambda _: len(looked) > 2)
    assert captured.ops().count(("t", None)) == 2
    assert "WARNING" not in caplog.text
