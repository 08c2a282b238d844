"""A query of a user over tables, in a process of its own: it may take too long or too much memory, and costs its records."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.transforms.processes.child import Child

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    import pyarrow as pa

UNKNOWN_FUNCTION = "unknown function: "
"""How the reason begins when the query calls a function that there is not."""

SLICE = "_slice"
"""The column of a result that says of which slice a row is."""

_MEMORY = "512MB"
"""What DuckDB holds in memory; what is more it puts on disk, see rocketconnect_sdk.permissions.spills."""

_MAIN = "rocketconnect_sdk.transforms.processes.sql_main"


def packed(table: "pa.Table") -> bytes:
    """A table as an Arrow IPC stream."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    body: bytes = sink.getvalue().to_pybytes()
    return body


class SqlProcess:
    """Runs one query over the table `records`, again and again. Used by one thread at a time.

    Args:
        query: In DuckDB's dialect.
        seconds: How long it may take.
        option: The option that says so, for people.
    """

    def __init__(self, query: str, seconds: float, option: str = "timeout") -> None:
        self._seconds = seconds
        self._option = option
        self._child = Child(_MAIN, (query, _MEMORY), "the process of the query")
        self._tables: dict[str, pa.Table] = {}
        self._there: dict[str, pa.Table] = {}
        self._told: object = None

    def set_tables(self, tables: "Mapping[str, pa.Table]") -> None:
        """Other tables that the query reads, from now on. One that is the same object as before is not sent again."""
        self._tables = dict(tables)

    def run(self, table: "pa.Table", slices: Sequence[tuple[int, int]] = ()) -> "pa.Table":
        """The result.

        Args:
            table: The records.
            slices: The query is run over the rows of each (start, stop) by itself: the result has their rows one behind the other,
                and which slice each is of in the column SLICE. None: once over all.

        Raises:
            RecordError: there is none; the text says why.
            PermanentError: the process could not begin.
        """
        import pyarrow as pa

        for again in (True, False):
            try:
                socket = self._child.socket
                self._tell(socket)
                socket.send(("run", list(slices)))
                socket.send_bytes(packed(table))
                if not socket.poll(self._seconds):
                    self._child.end()
                    msg = f"the query has not ended after {self._seconds:g} s (the option {self._option})"
                    raise RecordError(msg)
                answer = socket.recv_bytes()
            except (EOFError, OSError):
                # Once more: the process may have been ended by somebody else.
                self._child.end()
                if again:
                    continue
                break
            if answer[:1] == b"-":
                raise RecordError(answer[1:].decode(errors="replace"))
            with pa.ipc.open_stream(pa.py_buffer(answer)[1:]) as reader:
                return reader.read_all()
        msg = "the query has ended its process, perhaps because it takes too much memory"
        raise RecordError(msg)

    def _tell(self, socket: "Connection") -> None:
        """Sends the tables that the process has not."""
        if socket is not self._told:
            self._there, self._told = {}, socket
        for name, table in self._tables.items():
            if self._there.get(name) is not table:
                socket.send(("table", name))
                socket.send_bytes(packed(table))
                self._there[name] = table

    def close(self) -> None:
        """Ends the process."""
        self._child.end()
