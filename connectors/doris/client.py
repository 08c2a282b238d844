"""Loads in two phases over HTTP, from Doris 1.2 on: rows are sent, and become visible when their transaction is committed."""

import base64
import json
import random
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import Enum
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import httpx

from connectors.doris.faults import Fault, Refused, refused, understood
from connectors.doris.place import Login, Place
from rocketconnect_sdk.errors import PermanentError

DELETE_SIGN = "__DORIS_DELETE_SIGN__"
"""The hidden column of tables with unique keys: a row in which it is 1 deletes the one of its key."""
_CONNECT_SECONDS = 3.0
_REDIRECTS = (301, 302, 307, 308)
_MOST_REDIRECTS = 5
_LARGEST = 16 << 20
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
    """A cluster. Connections are made for one request each: none is there to be closed, and none is shared with a forked process.

    Args:
        place: The cluster and the database.
        login: Who we are there.
    """

    def __init__(self, place: Place, login: Login) -> None:
        self.place = place
        self.login = login
        self._trusted: ssl.SSLContext | None = None

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
        except Refused as error:
            # What is left of it would lie there until its time is over. Older servers know no label here.
            with suppress(Refused):
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
        except Refused as error:
            raise understood(error, self.place, self.login.user) from error

    def _operate(self, database: str, transaction: int, operation: str) -> None:
        headers = {"txn_id": str(transaction), "txn_operation": operation}
        try:
            # Whether it has been done is not read out of words: its state says it.
            self._request("PUT", f"/api/{quote(database)}/_stream_load_2pc", headers)
        except Refused as error:
            raise understood(error, self.place, self.login.user) from error

    def _request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"", *, loads: bool = False
    ) -> dict[str, Any]:
        known = f"{self.login.user}:{self.login.password}".encode()
        sent = {"Authorization": b"Basic " + base64.b64encode(known), **{key: value.encode() for key, value in headers.items()}}
        if method == "PUT":
            # A frontend answers nothing else to a load.
            sent["Expect"] = b"100-continue"
        direct = method == "PUT" and bool(self.place.backends)
        url = (random.choice(self.place.backends) if direct else self.place.url) + path  # noqa: S311 - whichever
        for redirects in range(_MOST_REDIRECTS):
            # A frontend reads nothing: it redirects to a backend.
            content = body if direct or redirects else b""
            try:
                status, answer, target = send(self._made(), method, url, sent, content)
            except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
                said = "no answer in time" if isinstance(error, httpx.TimeoutException) else str(error) or type(error).__name__
                raise Refused(Fault.AWAY, f"{_plain(url)}: {said}") from None
            if status in _REDIRECTS and target:
                url = _plain(str(httpx.URL(url).join(target)))
                continue
            if loads and not direct and not redirects and status == _OK:
                # Some balancers load by themselves; a frontend that does not redirect has refused it.
                raise refused(_said(answer), status=status)
            return _read(status, answer)
        msg = f"{_plain(url)}: more than {_MOST_REDIRECTS} redirects"
        raise Refused(Fault.OTHER, msg)

    def _made(self) -> httpx.Client:
        if self._trusted is None:
            # Without one a context is made for each request, which takes longer than the request.
            is_tls = self.place.url.startswith("https:")
            self._trusted = _trusted(self.login.ca) if is_tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # A load is given up by the server first.
        timeout = httpx.Timeout(self.login.seconds + 1, connect=min(_CONNECT_SECONDS, self.login.seconds))
        return httpx.Client(timeout=timeout, verify=self._trusted)


def send(client: httpx.Client, method: str, url: str, headers: Mapping[str, bytes], body: bytes) -> tuple[int, bytes, str]:
    """One request: its status, its answer, and where it redirects to. Every load and what becomes of it goes through here.

    Raises:
        httpx.HTTPError, httpx.InvalidURL, httpx.StreamError: there is no answer.
    """
    with client, client.stream(method, url, content=body, headers=dict(headers)) as response:  # type: ignore[arg-type] # bytes
        data = bytearray()
        for part in response.iter_bytes(1 << 16):
            data += part
            if len(data) > _LARGEST:
                msg = f"an answer of more than {_LARGEST >> 20} MiB"
                raise httpx.DecodingError(msg)
        return response.status_code, bytes(data), response.headers.get("Location", "")


def _of_load(answer: Mapping[str, Any]) -> Refused:
    said = f"{answer.get('Status')}: {answer.get('Message') or answer.get('msg') or 'no reason'}"
    if answer.get("Status") == "Label Already Exists":
        # Labels are new: somebody on the way has sent the request twice. What he has sent is never committed.
        return Refused(Fault.BUSY, said)
    error = refused(said)
    # The page that shows the first rows that were refused.
    return Refused(error.fault, f"{said}; see {answer['ErrorURL']}") if answer.get("ErrorURL") else error


def _read(status: int, answer: bytes) -> dict[str, Any]:
    try:
        found = json.loads(answer)
    except ValueError:
        raise refused(_said(answer), status=status) from None
    if status != _OK or not isinstance(found, dict):
        raise refused(_said(answer), status=status)
    # A frontend says so with the status 200.
    if found.get("code", 0) in (401, 403):
        raise refused(_said(answer), status=found["code"])
    return found


def _said(answer: bytes) -> str:
    return answer.decode("utf-8", "replace")


def _plain(url: str) -> str:
    """An address without the user and the password that a frontend writes into the one it redirects to."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _trusted(place: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=place or None)
    except (OSError, ssl.SSLError) as error:
        fix = "Put a readable file with certificates (PEM) there on the executor"
        msg = f"ssl.ca.location={place}: {getattr(error, 'strerror', None) or error}. {fix}"
        raise PermanentError(msg) from None
