"""The gateway, the only service that is asked over HTTP: whether it answers, and what it alone can ask executors for."""

import http.client
import json
import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from rocketconnect_kit.access.tokens import OwnToken
from rocketconnect_kit.settings import ServiceSettings, parse_addresses

_PATH = "/healthz"
_PAGE = 100
_ANSWER_BYTES = 16 << 20
"""Invariant 7."""

Query = Mapping[str, str | Sequence[str]]


class NotTold(Exception):
    """It does not say. `reason` is that of its answer; empty: it gave none that is understood."""

    def __init__(self, cause: str, reason: str = "") -> None:
        super().__init__(cause)
        self.reason = reason


class Gateway:
    """What its API tells whoever may only read. For several threads at once.

    Args:
        address: Where it listens; "ip:port,ip:port" of several.
        settings: TLS, and the file with the token that it is shown.
        seconds: How long an answer may take.
    """

    def __init__(self, address: str, settings: ServiceSettings, seconds: float) -> None:
        self._pairs = parse_addresses(address)
        self._settings = settings
        self._token = OwnToken(settings.token_file)
        self._seconds = seconds

    def get(self, path: Sequence[str], query: Query) -> Any:
        """Return an answer.

        Args:
            path: The parts behind "/v1/"; the last may end in a verb, ":count".
            query: The fields of the request; of several values a list.

        Raises:
            NotTold: none of them gives one.
        """
        url = "/v1/" + "/".join(quote(part, safe=":") for part in path)
        if query:
            url += "?" + urlencode(query, doseq=True)
        refused = NotTold("has no address")
        for host, port in self._pairs:
            try:
                return self._ask(host, port, url)
            except NotTold as error:
                refused = error
        raise refused

    def pages(self, path: Sequence[str], query: Query, field: str) -> Iterator[Any]:
        """Yield what is in a field of all pages. Raises NotTold."""
        asked = {**query, "pageSize": str(_PAGE)}
        while True:
            page = self.get(path, asked)
            yield from page.get(field, ())
            if not page.get("nextPageToken"):
                return
            asked["pageToken"] = page["nextPageToken"]

    def _ask(self, host: str, port: int, url: str) -> Any:
        connection = _connection(host, port, self._settings, self._seconds)
        shown = self._token.header()
        try:
            connection.request("GET", url, headers={"Connection": "close", **({"Authorization": shown} if shown else {})})
            answer = connection.getresponse()
            said = json.loads(answer.read(_ANSWER_BYTES))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NotTold(str(error) or type(error).__name__) from error
        finally:
            connection.close()
        if not isinstance(said, dict):
            msg = "its answer is no object"
            raise NotTold(msg)
        if answer.status != http.HTTPStatus.OK:
            raise NotTold(f"HTTP status {answer.status}: {said.get('detail', '')}"[:500], str(said.get("reason", "")))
        return said


def ask(address: str, settings: ServiceSettings, seconds: float) -> str:
    """Ask one gateway, or several ("ip:port,ip:port") until one answers; return why none does, or nothing.

    Any answer below 500 counts: one that refuses the name under which it was asked is there.

    Args:
        address: Where it listens.
        settings: TLS, as for the other services.
        seconds: How long they have to answer, together.
    """
    cause = ""
    pairs = parse_addresses(address)
    for host, port in pairs:
        connection = _connection(host, port, settings, max(seconds / len(pairs), 0.001))
        try:
            connection.request("GET", _PATH, headers={"Connection": "close"})
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            cause = str(error) or type(error).__name__
        else:
            if status < 500:
                return ""
            cause = f"HTTP status {status}"
        finally:
            connection.close()
    return cause


def _connection(host: str, port: int, settings: ServiceSettings, timeout: float) -> http.client.HTTPConnection:
    if settings.tls_ca is None and settings.tls_cert is None:
        return http.client.HTTPConnection(host, port, timeout=timeout)
    context = ssl.create_default_context(cafile=settings.tls_ca)
    if settings.tls_cert is not None:
        context.load_cert_chain(settings.tls_cert, settings.tls_key)
    return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
