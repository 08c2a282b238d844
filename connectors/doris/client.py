"""Loads in two phases over HTTP, from Doris 1.2 on: rows are sent, and become visible when their transaction is committed."""

import json
import random
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from enum import Enum
from typing import Any
from urllib.parse import quote

from connectors.doris.endpoint import Endpoint, Login
from connectors.doris.faults import refused
from rocketconnect_sdk import http
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.tables.faults import Fault, ServerRejected, understood

DELETE_SIGN = "__DORIS_DELETE_SIGN__"
"""The hidden column of tables with unique keys: a row in which it is 1 deletes the one of its key."""
_REDIRECTS = (301, 302, 307, 308)
_MOST_REDIRECTS = 5
_OK = 200
_DONE = "Success"


class State(Enum):
    """What has become of a load, by its label."""

    PREPARE = "PREPARE"
    PRECOMMITTED = "PRECOMMITTED"
    COMMITTED = "COMMITTED"
    VISIBLE = "VISIBLE"
    ABORTED = "ABORTED"
    UNKNOWN = "UNKNOWN"


class Client:
    """A cluster.

    Args:
        place: The cluster and the database.
        login: Who we are there.
    """

    def __init__(self, place: Endpoint, login: Login) -> None:
        self.place = place
        self.login = login
        # A load is given up by the server first.
        self._http = http.HttpClient([place.url], http.Login(login.user, login.password), login.tls, seconds=login.seconds + 1)

    def load(self, table: str, rows: bytes, label: str, columns: Sequence[str], *, deletes: bool) -> int:
        """Sends rows, which nobody sees before their transaction is committed.

        Args:
            table: Where they go; before a point stands another database.
            rows: JSON objects, one a line.
            label: New in its database.
            columns: Those of the rows.
            deletes: Rows have DELETE_SIGN, too.

        Returns:
            The transaction.

        Raises:
            SystemAway: the cluster does not answer, or cannot do it now. Then the load may still be under way.
            PermanentError: it has refused it.
        """
        database, name = self.place.parts(table)
        headers = {
            "label": label,
            "two_phase_commit": "true",
            "format": "json",
            "read_json_by_line": "true",
            "strict_mode": "true",
            "max_filter_ratio": "0",
            "timeout": str(max(1, round(self.login.seconds))),
            # Names of columns are written as statements have them, and need not be ASCII.
            "columns": ", ".join(f"`{each}`" for each in [*columns, *([DELETE_SIGN] if deletes else [])]),
        }
        if deletes:
            headers["hidden_columns"] = DELETE_SIGN
        try:
            answer = self._request("PUT", f"/api/{quote(database)}/{quote(name)}/_stream_load", headers, rows, loads=True)
            if answer.get("Status") == _DONE and isinstance(answer.get("TxnId"), int):
                return int(answer["TxnId"])
            raise _of_load(answer)
        except ServerRejected as error:
            # What is left of it would lie there until its time is over. Older servers know no label here.
            with suppress(ServerRejected):
                self._request("PUT", f"/api/{quote(database)}/_stream_load_2pc", {"label": label, "txn_operation": "abort"})
            raise understood(error, self.place, self.login.user) from error

    def commit(self, database: str, transaction: int) -> None:
        """Asks for the rows of a load to become visible. What has come of that, `state` tells, whatever is raised here.

        Raises: as load.
        """
        self._operate(database, transaction, "commit")

    def abort(self, database: str, transaction: int) -> None:
        """Asks for a load to be dropped. See commit."""
        self._operate(database, transaction, "abort")

    def state(self, database: str, label: str) -> State:
        """What has become of a load. Of UNKNOWN the server knows nothing, or nothing any more. Raises as load."""
        try:
            answer = self._request("GET", f"/api/{quote(database)}/get_load_state?label={quote(label)}", {})
            found = answer.get("data", answer.get("state"))
            if found not in State.__members__:
                msg = f"the state of a load is {found!r}: {answer.get('msg', '')}"
                raise refused(msg)
            return State(found)
        except ServerRejected as error:
            raise understood(error, self.place, self.login.user) from error

    def _operate(self, database: str, transaction: int, operation: str) -> None:
        headers = {"txn_id": str(transaction), "txn_operation": operation}
        try:
            # Whether it has been done is not read out of words: its state says it.
            self._request("PUT", f"/api/{quote(database)}/_stream_load_2pc", headers)
        except ServerRejected as error:
            raise understood(error, self.place, self.login.user) from error

    def _request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"", *, loads: bool = False
    ) -> dict[str, Any]:
        # A frontend answers nothing else to a load.
        sent = {**headers, "Expect": "100-continue"} if method == "PUT" else headers
        direct = method == "PUT" and bool(self.place.backends)
        url = (random.choice(self.place.backends) if direct else self.place.url) + path  # noqa: S311 - whichever
        for redirects in range(_MOST_REDIRECTS):
            # A frontend reads nothing: it redirects to a backend.
            content = body if direct or redirects else b""
            try:
                # Who redirects may end the connection without a word: each request has its own, and none is there to be closed.
                with closing(self._http):
                    answer = send(self._http, method, url, sent, content)
            except SystemAway as error:
                raise ServerRejected(Fault.AWAY, str(error)) from error
            if answer.status in _REDIRECTS and answer.target:
                url = answer.target
                continue
            said = answer.body.decode("utf-8", "replace")
            if loads and not direct and not redirects and answer.status == _OK:
                # Some balancers load by themselves; a frontend that does not redirect has refused it.
                raise refused(said, status=answer.status)
            return _read(answer.status, said)
        msg = f"{self.place.url}{path}: more than {_MOST_REDIRECTS} redirects"
        raise ServerRejected(Fault.OTHER, msg)


def send(client: http.HttpClient, method: str, url: str, headers: Mapping[str, str], body: bytes) -> http.Answer:
    """One request. Every load and what becomes of it goes through here. Raises as HttpClient.ask."""
    return client.ask(method, url, body, headers=headers)


def _of_load(answer: Mapping[str, Any]) -> ServerRejected:
    said = f"{answer.get('Status')}: {answer.get('Message') or answer.get('msg') or 'no reason'}"
    if answer.get("Status") == "Label Already Exists":
        # Labels are new: somebody on the way has sent the request twice. What he has sent is never committed.
        return ServerRejected(Fault.BUSY, said)
    error = refused(said)
    # The page that shows the first rows that were refused.
    return ServerRejected(error.fault, f"{said}; see {answer['ErrorURL']}") if answer.get("ErrorURL") else error


def _read(status: int, said: str) -> dict[str, Any]:
    try:
        found = json.loads(said)
    except (ValueError, RecursionError):
        raise refused(said, status=status) from None
    if status != _OK or not isinstance(found, dict):
        raise refused(said, status=status)
    # A frontend says so with the status 200.
    if found.get("code", 0) in (401, 403):
        raise refused(said, status=found["code"])
    return found
