"""Requests to the servers of one system."""

import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import httpx

from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.http.answers import Answer, NotTrusted, problem_of
from rocketconnect_sdk.http.login import Login, Tls
from rocketconnect_sdk.permissions.connections import check_url

_CONNECT_SECONDS = 3.0
_LARGEST = 16 << 20
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout)
"""What was asked was not done: another server may be asked at once."""


class HttpClient:
    """Asks one of several servers. One thread calls it, in the process that has made it.

    Connections are kept for the next request. Proxies are those of the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), redirects
    are not followed, and a host that the executor does not allow is not spoken to, through a proxy neither. It waits and repeats
    nothing by itself, but that it asks the next server where one can't be reached: the runtime does so with SystemAway.

    Args:
        urls: The servers, without a slash at the end.
        login: Who we are there.
        tls: Whom we trust.
        seconds: The time of an answer, from its first byte on, and of each wait for a part of a request.
        largest: A longer answer, in bytes, is none.
        headers: Of all requests.
        timeout_option: What is named where an answer takes longer.

    Raises:
        PermanentError: login or tls can't be used.
        HostRefused: of `ask`: the executor lets no connector speak to the host.
    """

    def __init__(
        self,
        urls: Sequence[str],
        login: Login | None = None,
        tls: Tls | None = None,
        *,
        seconds: float = 30.0,
        largest: int = _LARGEST,
        headers: Mapping[str, str] | None = None,
        timeout_option: str = "request.timeout",
    ) -> None:
        self._timeout_option = timeout_option
        self._urls = [url.rstrip("/") for url in urls]
        self._login = login or Login()
        self._seconds = seconds
        self._largest = largest
        self._first = 0
        self._headers = {"Accept-Encoding": "identity", **(headers or {})}
        if authorization := self._login.header:
            self._headers["Authorization"] = authorization
        # Making one takes longer than a request.
        is_tls = any(url.startswith("https:") for url in self._urls)
        self._tls = tls or Tls()
        self._trusted = self._tls.context() if is_tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._client: httpx.Client | None = None

    @property
    def place(self) -> str:
        """The server that is asked next, for people."""
        return self._urls[self._first]

    def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        headers: Mapping[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> Answer:
        """An answer, whatever it says.

        Raises:
            SystemAway: there is none. Then it may have been done all the same.
            NotTrusted: the certificate of the server is not trusted.
        """
        reasons: list[str] = []
        for _ in self._urls:
            url = self.place
            try:
                with self._told(url):
                    return self._one(method, url + path, body, headers or {}, parameters or {})
            except SystemAway as error:
                self._first = (self._first + 1) % len(self._urls)
                reasons.append(str(error))
                if isinstance(error, NotTrusted) or not isinstance(error.__cause__, _NOT_SENT):
                    raise
        raise SystemAway("; ".join(reasons))

    def asked(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        headers: Mapping[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> Answer:
        """A good answer.

        Raises:
            SystemAway: as ask, or the server can't do it now, with what it says of how long to wait.
            NotLetIn: it doesn't know who we are, or doesn't allow it.
            Refused: it does not do it.
        """
        answer = self.ask(method, path, body, headers=headers, parameters=parameters)
        if answer.is_good:
            return answer
        raise self.problem(answer)

    def problem(self, answer: Answer) -> Exception:
        """The error that an answer is which is not good. Of one that is busy the next server is asked the next time."""
        place = self.place
        if answer.is_busy:
            self._first = (self._first + 1) % len(self._urls)
        return problem_of(answer, place, self._login.hidden(answer.said()), datetime.now(UTC))

    def close(self) -> None:
        """Ends its connections. It may be used again."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _opened(self) -> httpx.Client:
        if self._client is None:
            # What is connected to is looked at by itself; a proxy is another host than the one that is meant.
            for url in self._urls:
                check_url(url)
            timeout = httpx.Timeout(self._seconds, connect=min(_CONNECT_SECONDS, self._seconds))
            self._client = httpx.Client(headers=self._headers, timeout=timeout, verify=self._trusted)
        return self._client

    def _one(self, method: str, url: str, body: bytes, headers: Mapping[str, str], parameters: Mapping[str, str]) -> Answer:
        with self._opened().stream(method, url, content=body, headers=dict(headers), params=dict(parameters)) as response:
            deadline = time.monotonic() + self._seconds
            data = bytearray()
            for part in response.iter_bytes(1 << 16):
                data += part
                if len(data) > self._largest:
                    msg = f"an answer of more than {self._largest >> 20} MiB"
                    raise httpx.DecodingError(msg)
                if time.monotonic() > deadline:
                    msg = "no end of the answer in time"
                    raise httpx.ReadTimeout(msg)
            return Answer(response.status_code, bytes(data), {name.lower(): text for name, text in response.headers.items()})

    @contextmanager
    def _told(self, url: str) -> Iterator[None]:
        try:
            yield
        except (httpx.HTTPError, httpx.StreamError) as error:
            self.close()
            if (why := _certificate(error)) is not None:
                fix = (
                    f"Name the certificates that it comes from in {self._tls.prefix}ssl.ca.location, or correct the name in the URL"
                )
                msg = f"{url}: the certificate of the server is not trusted: {why}. {fix}"
                raise NotTrusted(msg) from error
            said = str(error) or type(error).__name__
            if isinstance(error, httpx.TimeoutException):
                said = f"no answer within {self._seconds:g} s ({self._timeout_option})"
            msg = f"{url} does not answer: {self._login.hidden(said)}"
            raise SystemAway(msg) from error
        except httpx.InvalidURL as error:
            msg = f"{url} can't be asked: {error}"
            raise PermanentError(msg) from error


def _certificate(error: BaseException) -> str | None:
    """What is wrong with the certificate of a server; None: that is not why."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLCertVerificationError):
            return seen.verify_message
        seen = seen.__cause__ or seen.__context__
    return None
