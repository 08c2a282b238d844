"""A query of a user over tables, in a process of its own: it may take too long or too much memory, and costs its records."""

from typing import TYPE_CHECKING

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.transforms.processes.child import Child

if TYPE_CHECKING:
    import pyarrow as pa

UNKNOWN_FUNCTION = "unknown function: "
"""How the reason begins when the query calls a function that there is not."""

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
    """

    def __init__(self, query: str, seconds: float) -> None:
        self._seconds = seconds
        self._child = Child(_MAIN, query, "the process of the query")

    def run(self, table: "pa.Table") -> "pa.Table":
        """The result.

        Raises:
            RecordError: there is none; the text says why.
            PermanentError: the process could not begin.
        """
        import pyarrow as pa

        for again in (True, False):
            socket = self._child.socket
            try:
                socket.send_bytes(packed(table))
                if not socket.poll(self._seconds):
                    self._child.end()
                    msg = f"the query has not ended after {self._seconds:g} s (the option timeout)"
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

    def close(self) -> None:
        """Ends the process."""
        self._child.end()
