"""The process in which the SQL of users runs, in DuckDB: `python -m rocketconnect_sdk.transforms.processes.sql_main FD PARENT`.

First it is sent the query. Then it is sent tables as Arrow IPC streams, and answers each with "+" and the result as one, or
with "-" and why there is none.
"""

import sys
from multiprocessing.connection import Connection

import duckdb
import pyarrow as pa

from rocketconnect_sdk.transforms.processes.child import serve
from rocketconnect_sdk.transforms.processes.sql import UNKNOWN_FUNCTION, packed
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
        with pa.ipc.open_stream(socket.recv_bytes()) as reader:
            connection.register(TABLE, reader.read_all())
        try:
            answer = b"+" + packed(connection.sql(query).to_arrow_table())
        except (duckdb.Error, pa.ArrowException, MemoryError) as error:
            kind = UNKNOWN_FUNCTION if isinstance(error, duckdb.CatalogException) else ""
            answer = b"-" + (kind + (str(error).partition("\n")[0] or type(error).__name__))[:500].encode()
        connection.unregister(TABLE)
        socket.send_bytes(answer)


if __name__ == "__main__":
    sys.exit(serve(_answers, memory=_MEMORY))
