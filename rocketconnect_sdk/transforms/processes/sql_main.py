"""The process in which the SQL of users runs, in DuckDB: `python -m rocketconnect_sdk.transforms.processes.sql_main FD PARENT`.

First it is sent the query and how much memory its tables may take. Then it is sent pairs of what is wanted and a table as an Arrow
IPC stream: ("table", name) keeps it under that name, and ("run", slices) is answered with "+" and the result as a stream, or with
"-" and why there is none.
"""

import os
import sys
import tempfile
from multiprocessing.connection import Connection

import duckdb
import pyarrow as pa

from rocketconnect_sdk.permissions.spills import SETTING, spill_limit
from rocketconnect_sdk.transforms.processes.child import serve
from rocketconnect_sdk.transforms.processes.sql import SLICE, UNKNOWN_FUNCTION, packed
from rocketconnect_sdk.transforms.row_sql import TABLE

_MEMORY = 3 << 30
"""Of the process; DuckDB does not count all that it takes."""

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": "1",
    # A query reads its records, and nothing else of the worker.
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


def _answers(socket: Connection) -> None:
    query, memory = socket.recv()
    # By itself it spills into the working directory, leaves that there, and takes all of the disk.
    connection = duckdb.connect(":memory:", config={**_SETTINGS, "memory_limit": memory, "temp_directory": tempfile.gettempdir()})
    # Not among the settings above: DuckDB takes the limit there and does not keep to it.
    connection.execute(f"SET max_temp_directory_size = '{spill_limit(os.environ)}B'")
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
            answer = b"-" + _reason(error)[:500].encode()
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


def _reason(error: Exception) -> str:
    unknown = UNKNOWN_FUNCTION if isinstance(error, duckdb.CatalogException) else ""
    reason = unknown + (str(error).partition("\n")[0] or type(error).__name__)
    if "max_temp_directory_size" in str(error):
        return f"{reason} Let it sort or group fewer records at a time, or raise the executor's {SETTING}."
    return reason


if __name__ == "__main__":
    sys.exit(serve(_answers, memory=_MEMORY))
