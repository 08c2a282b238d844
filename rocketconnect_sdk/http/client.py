"""Requests to the servers of one system."""

import re
import ssl
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.http import packed
from rocketconnect_sdk.http.answers import Answer, NotTrusted, problem_of
from rocketconnect_sdk.http.login import Ending, Login, Tls
from rocketconnect_sdk.permissions.connections import check_url

_CONNECT_SECONDS = 3.0
_KEPT_SECONDS = 2.0
"""Servers end connections that nobody uses, the first ones after three seconds: a request that meets that may have been done."""
_LARGEST = 16 << 20
_LEAST_RATE = 256 << 10
"""Bytes each second. An answer that comes as fast may take longer than one has time otherwise."""
_PIECE = 256 << 10
"""What is left of a larger one would be copied each time that the system has taken some of it."""
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout)
"""What was asked was not done: another server may be asked at once."""
_LOGIN = re.compile(r"^(https?://)[^/?#]*@")
_SHOWN = 60
_PACKINGS = {"gzip": packed.ungzipped, "x-gzip": packed.ungzipped, "deflate": packed.undeflated}
"""By what Content-Encoding says, what unpacks such bodies."""
_ENDED = (401, 403, 419)
"""So answers a server that takes a token no more."""


class AnswerTooLong(httpx.DecodingError):
    """An answer has more bytes than one may have: the cause of a SystemAway."""


class HttpClient:
    """Asks one of several servers. One thread has it; whoever it is pickled for makes connections of its own.

    Connections are kept for the next request, until it is closed or nobody has it any more. Proxies are those of the environment
    (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), redirects are not followed, and a host that the executor does not allow is not spoken to,
    through a proxy neither. It waits and repeats nothing by itself, but that it asks the next server where one can't be reached,
    and once more where a token has ended: the runtime does so with SystemAway.

    Args:
        urls: The servers, without a slash at the end.
        login: Who we are there.
        tls: Whom we trust, by options; None: there are none, and the system says so.
        tokens: In the place of a login: see Tokens.
        seconds: The time of an answer, from its first byte on, and of each wait for a part of a request.
        largest: A longer answer, in bytes, is none.
        headers: Of all requests.
        timeout_option: What is named where an answer takes longer; empty: there is no such option.

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
        tokens: Ending | None = None,
        seconds: float = 30.0,
        largest: int = _LARGEST,
        headers: Mapping[str, str] | None = None,
        timeout_option: str = "request.timeout",
    ) -> None:
        self._timeout_option = timeout_option
        self._urls = [url.rstrip("/") for url in urls]
        self._login = login or Login()
        self._tokens = tokens
        self._seconds = seconds
        self._largest = largest
        self._first = 0
        self._headers = _encoded({"Accept-Encoding": "identity", **(headers or {}), **self._login.headers})
        self._tls = tls or Tls()
        self._trusts = "" if tls is None else f"{tls.prefix}ssl.ca.location"
        self._is_tls = any(url.startswith("https:") for url in self._urls)
        # Making one takes longer than a request.
        self._trusted: ssl.SSLContext | None = self._context()
        self._client: httpx.Client | None = None
        self._end: weakref.finalize[..., HttpClient] | None = None
        self._checked: set[str] = set()

    def __getstate__(self) -> dict[str, Any]:
        """What is of this process does not travel."""
        return {**self.__dict__, "_client": None, "_end": None, "_trusted": None, "_checked": set()}

    @property
    def place(self) -> str:
        """The server that is asked next, for people."""
        return self._urls[self._first]

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | memoryview = b"",
        *,
        headers: Mapping[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> Answer:
        """An answer, whatever it says.

        Args:
            method: Of HTTP.
            path: Below a server. A whole URL is asked in the place of all of them; a user and a password in it are left out.
            body: What is sent.
            headers: More of them; texts that are not ASCII are sent as UTF-8.
            parameters: Of the query.

        Raises:
            SystemAway: there is none. Then it may have been done all the same.
            NotTrusted: the certificate of the server is not trusted.
        """
        if path.startswith(("http://", "https://")):
            whole = _LOGIN.sub(r"\1", path)
            # A query may have a secret.
            with self._told(whole.partition("?")[0]):
                return self._answered(method, whole, body, headers or {}, parameters)
        reasons: list[str] = []
        for _ in self._urls:
            url = self.place
            try:
                with self._told(url):
                    return self._answered(method, url + path, body, headers or {}, parameters)
            except SystemAway as error:
                self.skip()
                reasons.append(str(error))
                if isinstance(error, NotTrusted) or not isinstance(error.__cause__, _NOT_SENT):
                    raise
        raise SystemAway("; ".join(reasons))

    def asked(
        self,
        method: str,
        path: str,
        body: bytes | memoryview = b"",
        *,
        headers: Mapping[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> Answer:
        """A good answer.

        Raises:
            SystemAway: as ask, or the server can't do it now, with what it says of how long to wait.
            NotLetIn: it doesn't know who we are, or doesn't allow it.
            RequestRejected: it does not do it.
        """
        answer = self.ask(method, path, body, headers=headers, parameters=parameters)
        if answer.is_good:
            return answer
        raise self.problem(answer)

    def problem(self, answer: Answer) -> Exception:
        """The error that an answer is which is not good. Of one that is busy the next server is asked the next time."""
        place = self.place
        if answer.is_busy:
            self.skip()
        return problem_of(answer, place, self.hidden(answer.said()), datetime.now(UTC))

    def skip(self) -> None:
        """The next server is asked the next time."""
        self._first = (self._first + 1) % len(self._urls)

    def hidden(self, text: str) -> str:
        """A text of somebody else, such as the answer of a server, without the secrets."""
        return self._login.hidden(text if self._tokens is None else self._tokens.hidden(text))

    def close(self) -> None:
        """Ends its connections. It may be used again."""
        self._client = None
        self._checked.clear()
        if self._end is not None:
            self._end()

    def _context(self) -> ssl.SSLContext:
        return self._tls.context() if self._is_tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    def _opened(self, url: str) -> httpx.Client:
        parts = urlsplit(url)
        if (server := f"{parts.scheme}://{parts.netloc}") not in self._checked:
            # What is connected to is looked at by itself; a proxy is another host than the one that is meant.
            check_url(server)
            self._checked.add(server)
        if parts.scheme == "https" and not self._is_tls:
            # None of the servers is, and one of them leads there.
            self.close()
            self._is_tls, self._trusted = True, None
        if self._client is None:
            self._trusted = self._trusted or self._context()
            timeout = httpx.Timeout(self._seconds, connect=min(_CONNECT_SECONDS, self._seconds))
            limits = httpx.Limits(keepalive_expiry=_KEPT_SECONDS)
            self._client = httpx.Client(headers=self._headers, timeout=timeout, limits=limits, verify=self._trusted)
            self._end = weakref.finalize(self, self._client.close)
        return self._client

    def _answered(
        self, method: str, url: str, body: bytes | memoryview, headers: Mapping[str, str], parameters: Mapping[str, str] | None
    ) -> Answer:
        if self._tokens is None:
            return self._one(method, url, body, headers, parameters)
        shown = self._tokens.headers
        answer = self._one(method, url, body, {**headers, **shown}, parameters)
        if answer.status in _ENDED and self._tokens.renew(shown):
            answer = self._one(method, url, body, {**headers, **self._tokens.headers}, parameters)
        return answer

    def _one(
        self, method: str, url: str, body: bytes | memoryview, headers: Mapping[str, str], parameters: Mapping[str, str] | None
    ) -> Answer:
        sent = _encoded(headers)
        content: bytes | Iterator[bytes]
        if len(body) > _PIECE:
            sent[b"Content-Length"] = str(len(body)).encode()
            content = _pieces(memoryview(body))
        else:
            content = bytes(body)
        # Also an empty one would take away the query of the URL.
        asked = dict(parameters) if parameters else None
        with self._opened(url).stream(method, url, content=content, headers=sent, params=asked) as response:
            deadline = time.monotonic() + self._seconds
            data = bytearray()
            # As it comes: what httpx unpacks has no limit before it is there.
            for part in response.iter_raw(1 << 16):
                data += part
                if len(data) > self._largest:
                    raise self._too_long()
                if time.monotonic() > deadline + len(data) / _LEAST_RATE:
                    msg = "no end of the answer in time"
                    raise httpx.ReadTimeout(msg)
            found = {name.lower(): text for name, text in response.headers.items()}
        answer = Answer(response.status_code, self._plain(bytes(data), found.get("content-encoding", "")), found, url)
        if body and not answer.is_good:
            # A server that has not read all of a body may take the rest for the next request.
            self.close()
        return answer

    def _plain(self, data: bytes, encoding: str) -> bytes:
        """The body of an answer, also of servers that pack it though nobody has asked for that."""
        name = encoding.strip().lower()
        if not data or name in ("", "identity"):
            return data
        unpack = _PACKINGS.get(name)
        if unpack is None:
            msg = f"an answer with Content-Encoding: {encoding[:_SHOWN]}, where identity was asked for"
            raise httpx.DecodingError(msg)
        try:
            return unpack(data, self._largest)
        except packed.TooLong:
            raise self._too_long() from None
        except packed.NotPacked as error:
            msg = f"an answer that {error}"
            raise httpx.DecodingError(msg) from None

    def _too_long(self) -> AnswerTooLong:
        return AnswerTooLong(f"an answer of more than {self._largest >> 20} MiB")

    @contextmanager
    def _told(self, url: str) -> Iterator[None]:
        try:
            yield
        except (httpx.HTTPError, httpx.StreamError) as error:
            self.close()
            if (why := _certificate(error)) is not None:
                named = "the certificates that it comes from"
                fix = f"Name {named} in {self._trusts}" if self._trusts else f"Let the system trust {named}"
                msg = f"{url}: the certificate of the server is not trusted: {why}. {fix}, or correct the name in the URL"
                raise NotTrusted(msg).naming(self._trusts) from error
            said = str(error) or type(error).__name__
            if isinstance(error, httpx.TimeoutException):
                option = f" ({self._timeout_option})" if self._timeout_option else ""
                said = f"no answer within {self._seconds:g} s{option}"
            msg = f"{url} does not answer: {self.hidden(said)}"
            raise SystemAway(msg) from error
        except (httpx.InvalidURL, ValueError) as error:
            msg = f"{url} can't be asked: {error}"
            raise PermanentError(msg) from error


def _encoded(headers: Mapping[str, str]) -> dict[bytes, bytes]:
    return {name.encode(): text.encode() for name, text in headers.items()}


def _pieces(body: memoryview) -> Iterator[bytes]:
    return (bytes(body[begin : begin + _PIECE]) for begin in range(0, len(body), _PIECE))


def _certificate(error: BaseException) -> str | None:
    """What is wrong with the certificate of a server; None: that is not why."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLCertVerificationError):
            return seen.verify_message
        seen = seen.__cause__ or seen.__context__
    return None
