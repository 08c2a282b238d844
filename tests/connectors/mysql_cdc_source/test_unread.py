"""A stream that nobody reads for a while: the task is paused, or its broker is away."""

import time

import pytest

from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.mysql_cdc_source.capturing import options, running
from tests.servers.mariadb import Mariadb

pytestmark = pytest.mark.mariadb

SECONDS = 1
ROWS, SIZE = 40, 1 << 20
"""More than the buffers between the server and a reader that does not read hold."""


def streams(database: Database) -> list[int]:
    """The server's threads that send the log."""
    rows = database.select("SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'")
    return [thread for (thread,) in rows]


def test_a_stream_that_is_not_read_for_longer_than_the_server_waits_for_a_write_lives_on() -> None:
    with Mariadb(net_write_timeout=str(SECONDS)).running() as server, Database(server) as database:
        database.run("CREATE TABLE t (id INT PRIMARY KEY, data LONGTEXT)")
        with running(options(database, snapshot_mode="never")) as run:
            database.run("INSERT INTO t VALUES (0, '')")
            run.until_records(1)
            before = streams(database)
            database.run(*(f"INSERT INTO t VALUES ({row}, REPEAT('x', {SIZE}))" for row in range(1, ROWS + 1)))
            # Nothing can be waited for: it is that nothing happens.
            time.sleep(4 * SECONDS)
            run.until_records(ROWS + 1)
            assert streams(database) == before
            assert [value["after"]["id"] for value in run.values] == list(range(ROWS + 1))
