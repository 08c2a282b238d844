"""Requests to the HTTP interface of a server, from 18.16 on."""

import gzip
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from connectors.clickhouse.endpoint import Endpoint, Version
from connectors.clickhouse.faults import refused
from rocketconnect_sdk.errors import ConnectorError, SystemAway
from rocketconnect_sdk.http import Answer, HttpClient
from rocketconnect_sdk.tables.faults import Fault, ServerRejected, understood

_DATA = "rc_data"
_BOUNDARY = "rocketconnect-0f6b1c"
_INPUT: Version = (20, 3)
"""Since then a statement reads the body of its request as a table; before it takes files of a form as tables."""
_ARROW: Version = (21, 3)
_NO_ASYNC: Version = (21, 11)
LARGEST = 64 << 20
"""A longer answer is none: what is read here is small, and held in memory."""


class Client:
    """A server.

    Args:
        place: The server and the database.
        http: Asks it.
        user: Who we are there, for people.
        compression: Of rows that are sent: none or gzip.
    """

    def __init__(self, place: Endpoint, http: HttpClient, user: str, compression: str = "none") -> None:
        self.place = place
        self._http = http
        self._user = user
        self._compression = compression
        self._version: Version | None = None

    @property
    def version(self) -> Version:
        """Of the server, its first two numbers. Raises as `run`."""
        if self._version is None:
            ((text,),) = self.rows("SELECT version()")
            first, second, *_ = str(text).split(".")
            self._version = int(first), int(second)
        return self._version

    def rows(self, query: str) -> list[list[Any]]:
        """The rows of a query; numbers of 64 bits are numbers. Raises as `run`."""
        settings = {"output_format_json_quote_64bit_integers": "0"}
        found: list[list[Any]] = json.loads(self._ask(f"{query} FORMAT JSONCompact", settings))["data"]
        return found

    def texts(self, query: str) -> list[Any]:
        """The columns of a query of texts: Arrow's arrays of bytes, or lists of texts; none: it has no rows. Raises as `run`."""
        if self.version < _ARROW:
            return list(map(list, zip(*self.rows(query), strict=True)))
        import pyarrow as pa

        answer = self._ask(f"{query} FORMAT ArrowStream", {"output_format_arrow_string_as_string": "0"})
        table = pa.ipc.open_stream(answer).read_all() if answer else None
        return [column.combine_chunks().cast(pa.binary()) for column in table.columns] if table else []

    def run(self, statement: str) -> None:
        """Runs a statement.

        Raises:
            SystemAway: the server does not answer, or cannot do it now.
            PermanentError: it has refused it.
        """
        self._ask(statement, {})

    def run_unless_there(self, statement: str) -> None:
        """Runs a statement that makes something, which may be there meanwhile. Raises as `run`."""
        try:
            self._request(statement.encode(), {}, {})
        except ServerRejected as error:
            if error.fault is not Fault.THERE:
                raise self._understood(error) from error

    def insert(self, head: str, tail: str, structure: Sequence[tuple[str, str]], data: bytes, query_id: str) -> None:
        """Runs an INSERT ... SELECT from rows that go with it. Durable when it returns.

        Args:
            head: The statement up to FROM.
            tail: What stands behind the rows.
            structure: The columns of the rows: (name, type); the names are of letters and digits.
            data: The rows in the format Native.
            query_id: Under which the server has it among its running queries until it ends, whoever dies.

        Raises: as `run`. Then it may have been done, and may still run.
        """
        columns = ", ".join(f"{name} {kind}" for name, kind in structure)
        # That equal rows are a double is decided here: the server would take two batches of equal rows for one.
        settings = {"query_id": query_id, "insert_deduplicate": "0"}
        if self.version >= _NO_ASYNC:
            settings["async_insert"] = "0"
        if self.version >= _INPUT:
            query = f"{head} FROM input('{columns}') {tail} FORMAT Native"
            headers: dict[str, str] = {}
            if self._compression == "gzip":
                data, headers = gzip.compress(data, 1), {"Content-Encoding": "gzip"}
            self._answered({"query": query, **settings}, data, headers)
            return
        form = {f"{_DATA}_format": "Native", f"{_DATA}_structure": columns}
        opening = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{_DATA}"; filename="{_DATA}"\r\n\r\n'
        body = b"".join((opening.encode(), data, f"\r\n--{_BOUNDARY}--\r\n".encode()))
        headers = {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY}"}
        self._answered({"query": f"{head} FROM {_DATA} {tail}", **form, **settings}, body, headers)

    def kill(self, query_ids: Sequence[str]) -> None:
        """Asks the server to end queries, as far as it lets the user do so."""
        wanted = ", ".join(f"'{each}'" for each in query_ids)
        with suppress(ServerRejected, SystemAway):
            self._request(f"KILL QUERY WHERE query_id IN ({wanted}) ASYNC".encode(), {}, {})

    def close(self) -> None:
        """Ends its connections. It may be used again."""
        self._http.close()

    def _ask(self, query: str, settings: Mapping[str, str]) -> bytes:
        return self._answered(settings, query.encode(), {})

    def _answered(self, parameters: Mapping[str, str], body: bytes, headers: Mapping[str, str]) -> bytes:
        try:
            return self._request(body, parameters, headers)
        except ServerRejected as error:
            raise self._understood(error) from error

    def _understood(self, error: ServerRejected) -> ConnectorError:
        return understood(error, self.place, self._user, f"Make it: CREATE DATABASE {self.place.database}; name another one")

    def _request(self, body: bytes, parameters: Mapping[str, str], headers: Mapping[str, str]) -> bytes:
        # What goes wrong late is in the status, too: the server answers when it has all of the answer.
        given = {"database": self.place.database, "wait_end_of_query": "1", **parameters}
        answer = send(self._http, given, body, headers)
        if not answer.is_good:
            raise refused(answer.status, answer.body.decode("utf-8", "replace"))
        return answer.body


def send(http: HttpClient, parameters: Mapping[str, str], body: bytes, headers: Mapping[str, str]) -> Answer:
    """One request. Everything that changes a server goes through here. Raises as HttpClient.ask."""
    return http.ask("POST", "/", body, headers=headers, parameters=parameters)
