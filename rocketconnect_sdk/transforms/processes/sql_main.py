"""The process in which the SQL of users runs, in DuckDB: `python -m rocketconnect_sdk.transforms.processes.sql_main FD PARENT`.

First it is sent the query. Then it is sent pairs of what is wanted and a table as an Arrow IPC stream: ("table", name) keeps it
under that name, and ("run", slices) is answered with "+" and the result as a stream, or with "-" and why there is none.
"""

import sys
from multiprocessing.connection import Connection

import duckdb
import pyarrow as pa

from rocketconnect_sdk.transforms.processes.child import serve
from rocketconnect_sdk.transforms.processes.sql import SLICE, UNKNOWN_FUNCTION, packed
from rocketconnect_sdk.transforms.row_sql import TABLE

_MEMORY = 3 << 30
"""Of the process; DuckDB does not count all that it takes."""

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": "1",
    "memory_limit": "512MB",
    # A query reads its records, and nothing else of the worker.
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


def _answers(socket: Connection) -> None:
    query: str = socket.recv()
    connection = duckdb.connect(":memory:", config=_SETTINGS)
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET lock_configuration = true")
    socket.send("")
    while True:
        kind, what = socket.recv()
        with pa.ipc.open_stream(socket.recv_bytes()) as reader:
            table = reader.read_all()
        if kind == "table":
            connection.register(what, table)
            continue
        try:
            answer = b"+" + packed(_result(connection, query, table, what))
        except (duckdb.Error, pa.ArrowException, MemoryError) as error:
            unknown = UNKNOWN_FUNCTION if isinstance(error, duckdb.CatalogException) else ""
            answer = b"-" + (unknown + (str(error).partition("\n")[0] or type(error).__name__))[:500].encode()
        connection.unregister(TABLE)
        socket.send_bytes(answer)


def _result(connection: duckdb.DuckDBPyConnection, query: str, table: pa.Table, slices: list[tuple[int, int]]) -> pa.Table:
    if not slices:
        connection.register(TABLE, table)
        return connection.sql(query).to_arrow_table()
    found = []
    for number, (start, stop) in enumerate(slices):
        connection.register(TABLE, table.slice(start, stop - start))
        rows = connection.sql(query).to_arrow_table()
        found.append(rows.append_column(SLICE, pa.repeat(pa.scalar(number, pa.int64()), len(rows))))
    return pa.concat_tables(found, promote_options="permissive")


if __name__ == "__main__":
    sys.exit(serve(_answers, memory=_MEMORY))
