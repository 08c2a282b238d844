"""The client of the REST API."""

import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Self
from urllib.parse import quote

import httpx

from rocketconnect_sdk.wording.counts import counted

DEFAULT_URL = "http://127.0.0.1:8082"
TIMEOUT_SECONDS = 60.0
STARTING = "STARTING"
"""Why a request was refused, and nothing done, by an instance whose executors are only just starting."""
STARTING_SECONDS = 20.0
"""How long one is waited for that has ended: `rocketconnect up` starts it again."""
_STARTING_PAUSE = 0.5
PAGE = 500
SHOWN = 200


class Exit(IntEnum):
    """Exit codes of the command line: scripts decide on them."""

    OK = 0
    FAILED = 1  # what was asked for did not come true: a connector FAILED, something went wrong
    WRONG = 2  # bad arguments or a bad configuration
    NOT_FOUND = 3
    CONFLICT = 4  # it exists already, or somebody else changed it meanwhile
    UNAVAILABLE = 5  # nobody answers, or a service behind the gateway is away
    TIMEOUT = 6  # it may still come true
    CHANGES = 7  # only with --exit-code: something is different
    INTERRUPTED = 130  # Ctrl-C


_EXIT_OF_STATUS = {400: Exit.WRONG, 404: Exit.NOT_FOUND, 409: Exit.CONFLICT, 412: Exit.CONFLICT, 413: Exit.WRONG, 422: Exit.WRONG}

_PROBLEM = {"detail": "", "reason": "", "problems": [{}]}
"""What a refusal holds, by example."""


class ApiError(Exception):
    """A request that was refused or could not be made.

    Attributes:
        exit_code: What the command line exits with.
        problem: The problem document of the answer, or one made here.
    """

    def __init__(self, exit_code: Exit, problem: Mapping[str, Any]) -> None:
        super().__init__(str(problem.get("detail") or problem.get("title") or "the request failed"))
        self.exit_code = exit_code
        self.problem = dict(problem)

    @property
    def problems(self) -> list[dict[str, str]]:
        """Everything that is wrong with a configuration: key, value, reason, fix."""
        return list(self.problem.get("problems") or [])


def checked_name(name: str, of: str = "a connector") -> str:
    """The name of a connector, or of something else, as it was given, when a request can carry it.

    Whether it is a good one is the service's to say.

    Raises:
        ApiError: WRONG, for a name that no path can hold: HTTP takes "." and ".." out of it.
    """
    if name in ("", ".", ".."):
        raise ApiError(Exit.WRONG, {"detail": f"{name!r} can't be the name of {of}. Give its name."})
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ApiError(Exit.WRONG, {"detail": f"the name {name!a} is not valid UTF-8. Give it in UTF-8."}) from None
    return name


def connector_path(name: str) -> str:
    """The path of a connector, in which its name is one segment whatever it holds.

    Raises:
        ApiError: see checked_name.
    """
    return f"/v1/connectors/{quote(checked_name(name), safe='')}"


@dataclass(frozen=True, slots=True)
class Access:
    """How a gateway lets somebody in.

    Attributes:
        token: What is shown; empty: nothing.
        context: Whom is trusted, and the own certificate; None: whom the machine trusts.
    """

    token: str = field(default="", repr=False)
    context: ssl.SSLContext | None = None


class Api:
    """Speaks to one gateway. Not for several threads at once.

    Ctrl-C within its `with` block becomes an ApiError that says what has become of the orders, the requests that change something.

    Args:
        url: Where it is.
        access: How it lets somebody in; None: it asks nobody.
        tell: Called with a line for people when something is waited for.

    Raises:
        ApiError: UNAVAILABLE, when the URL is none.
    """

    def __init__(self, url: str = DEFAULT_URL, access: Access | None = None, tell: Callable[[str], None] = lambda _: None) -> None:
        self.url = url.rstrip("/")
        self._tell = tell
        given = access or Access()
        headers = {"Accept": "application/json", **({"Authorization": f"Bearer {given.token}"} if given.token else {})}
        # To read whom the machine trusts takes 50 ms, a quarter of what a command takes: without TLS nobody is trusted.
        others = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if self.url.lower().startswith("http://") else True
        verify = given.context or others
        try:
            self._client = httpx.Client(base_url=self.url, timeout=TIMEOUT_SECONDS, headers=headers, verify=verify)
        except (httpx.InvalidURL, UnicodeError) as error:
            raise self._no_url(error) from None
        self._taken = 0
        self._ordering = False

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Closes the connections.

        Raises:
            ApiError: INTERRUPTED, in the place of a KeyboardInterrupt.
        """
        self._client.close()
        if kind is KeyboardInterrupt:
            raise ApiError(Exit.INTERRUPTED, {"detail": f"interrupted: {self._orders()}"}) from None

    def _orders(self) -> str:
        before = f"{counted(self._taken, 'order', 'was', 'were')} taken and will be carried out"
        if self._ordering:
            sent = "an order had gone out, and whether it was taken is not known: look before you give it again"
            return f"{sent}; before it, {before}" if self._taken else sent
        return before if self._taken else "nothing was changed"

    def request(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, str | int] | None = None,
        like: Mapping[str, object] | None = None,
    ) -> dict[str, Any]:
        """One request; the answer's JSON object. It is made again for a while where executors are only just starting.

        Args:
            method: The HTTP method.
            path: Of the API; a connector's is connector_path().
            body: Sent as JSON.
            query: The parameters.
            like: What the caller reads of the answer, by example: {"connector": {"name": ""}}, {"logs": [{}]}.

        Raises:
            ApiError: with the exit code and what to do.
        """
        until, told = time.monotonic() + STARTING_SECONDS, False
        while True:
            try:
                return self._asked(method, path, body, query, like)
            except ApiError as error:
                if error.problem.get("reason") != STARTING or time.monotonic() > until:
                    raise
            if not told:
                self._tell("no executor answers yet; waiting for one that is starting ...")
                told = True
            time.sleep(_STARTING_PAUSE)

    def _asked(
        self,
        method: str,
        path: str,
        body: object,
        query: Mapping[str, str | int] | None,
        like: Mapping[str, object] | None,
    ) -> dict[str, Any]:
        self._ordering = _is_order(method, path, body)
        try:
            answer = self._client.request(method, path, json=body, params=query)
        except httpx.TimeoutException:
            detail = f"{self.url} did not answer within {TIMEOUT_SECONDS:g} s. Look at its log, or try again."
            raise ApiError(Exit.TIMEOUT, {"detail": detail}) from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
            raise self._no_url(error) from None
        except httpx.HTTPError as error:
            detail = (
                f"nothing answers at {self.url} ({error}). Start it with `rocketconnect up`, or give --url or ROCKETCONNECT_URL."
            )
            raise ApiError(Exit.UNAVAILABLE, {"detail": detail}) from None
        self._taken += self._ordering and answer.is_success
        self._ordering = False
        document = _json(answer)
        if not _is_like(document, (like or {}) if answer.is_success else _PROBLEM):
            raise self._stranger(path, answer)
        if answer.is_success:
            return dict(document)
        fallback = Exit.UNAVAILABLE if answer.status_code in (502, 503, 504) else Exit.FAILED
        raise ApiError(_EXIT_OF_STATUS.get(answer.status_code, fallback), document)

    def pages(
        self,
        path: str,
        field: str,
        like: Mapping[str, object] | None = None,
        *,
        query: Mapping[str, str | int] | None = None,
    ) -> Iterator[dict[str, Any]]:
        """All items of a paged list, each like this; `query`: what chooses among them."""
        token = ""
        while True:
            asked: dict[str, str | int] = {**(query or {}), "pageSize": PAGE, "pageToken": token}
            page = self.request("GET", path, query=asked, like={field: [like or {}], "nextPageToken": ""})
            yield from page[field]
            token = page["nextPageToken"]
            if not token:
                return

    def _no_url(self, error: Exception) -> ApiError:
        detail = f"{self.url!a} is not a URL to ask ({error}). Give one such as {DEFAULT_URL} with --url or ROCKETCONNECT_URL."
        return ApiError(Exit.UNAVAILABLE, {"detail": detail})

    def _stranger(self, path: str, answer: httpx.Response) -> ApiError:
        detail = (
            f"{self.url}{path} does not answer as RocketConnect does: {answer.status_code} {answer.text[:SHOWN]!r}. "
            "Another server may listen there: give RocketConnect's address with --url or ROCKETCONNECT_URL."
        )
        return ApiError(Exit.UNAVAILABLE, {"detail": detail})


def _is_order(method: str, path: str, body: object) -> bool:
    """Whether a request changes something."""
    asks = method == "GET" or path.endswith((":validate", ":verify", ":preview", ":peek"))
    return not asks and not (isinstance(body, Mapping) and body.get("dryRun"))


def _json(answer: httpx.Response) -> Any:
    """What the answer holds; None when that is not JSON."""
    try:
        return answer.json()
    except (ValueError, RecursionError):
        # The caller says what came instead.
        return None


def _is_like(value: object, example: object) -> bool:
    """Whether a JSON value has what the example has: its kind, the fields of an object, the items of a list."""
    if isinstance(example, Mapping):
        return isinstance(value, dict) and all(key in value and _is_like(value[key], part) for key, part in example.items())
    if isinstance(example, list):
        return isinstance(value, list) and all(_is_like(item, example[0]) for item in value)
    return isinstance(value, type(example))
