"""The short form of `python -m tests.databases`: a few kills, every row compared."""

import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.databases.copying import SOURCE, Copying
from tests.databases.load import Load
from tests.databases.mariadb import PASSWORD_NAME, MariadbSide
from tests.databases.oracle import compare
from tests.databases.postgres import PostgresSide
from tests.databases.run import Plan, run
from tests.databases.side import Side
from tests.servers.mariadb import PASSWORD

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.rocketmq,
    pytest.mark.mariadb,
    pytest.mark.postgres,
    pytest.mark.slow,
]


@pytest.mark.parametrize("order", [(MariadbSide, PostgresSide), (PostgresSide, MariadbSide)])
def test_the_copy_becomes_equal_though_everything_is_killed_and_what_has_no_counterpart_is_a_dead_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: tuple[type[Side], type[Side]]
) -> None:
    monkeypatch.setenv(PASSWORD_NAME, PASSWORD)
    source, sink = order
    with Copying(tmp_path, source(), sink()) as arena:
        load = run(arena, Plan(seed=5, rows=4_000, changes=20_000, kills=3, large=3_000, rate=700), print)
        assert sum(arena.kills.values()) == 3
        _damaged_rows_are_found_and_sent_again(arena, load)


def _damaged_rows_are_found_and_sent_again(arena: Copying, load: Load) -> None:
    source, sink = arena.source, arena.sink
    orders = source.tables.orders
    with closing(source.connect()) as original, closing(sink.connect()) as copy, closing(copy.cursor()) as cursor:
        ids = [number for (number,) in source.rows(original, "SELECT id FROM orders ORDER BY id LIMIT 60")]
        cursor.execute("UPDATE orders SET name = 'damaged', int_u = 7 WHERE id <= %s", [ids[19]])
        cursor.execute("DELETE FROM orders WHERE id > %s AND id <= %s", [ids[29], ids[39]])
        cursor.execute("INSERT INTO orders (id, name) VALUES (-5, 'nobody has this one')")
    code, out = _verify(arena)
    assert (code, " 10 " in out, " 20 " in out, "orders [-5] EXTRA" in out) == (1, True, True, True), out
    code, out = _verify(arena, "--repair")
    assert (code, "31 rows were sent again" in out) == (0, True), out
    assert compare(source, sink, orders, load.columns(orders))
    code, out = _verify(arena)
    assert code == 0, out


def _verify(arena: Copying, *more: str) -> tuple[int, str]:
    table = f"{arena.source.scope}.orders"
    words = ["verify", SOURCE, "--wait", "5", "-n", "100", "-t", table, "--url", arena.instance.rest, *more]
    done = subprocess.Popen([str(Path(sys.executable).with_name("rocketconnect")), *words], stdout=subprocess.PIPE, text=True)
    while done.poll() is None:
        arena.look_after()
        time.sleep(0.1)
    assert done.stdout is not None
    with done.stdout as out:
        return done.returncode, out.read()
