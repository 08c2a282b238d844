"""The client of the REST API."""

import json
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any, Self

import httpx

DEFAULT_URL = "http://127.0.0.1:8082"
TIMEOUT_SECONDS = 60.0
PAGE = 500


class Exit(IntEnum):
    """Exit codes of the command line: scripts decide on them."""

    OK = 0
    FAILED = 1  # what was asked for did not come true: a connector FAILED, something went wrong
    WRONG = 2  # bad arguments or a bad configuration
    NOT_FOUND = 3
    CONFLICT = 4  # it exists already, or somebody else changed it meanwhile
    UNAVAILABLE = 5  # nobody answers, or a service behind the gateway is away
    TIMEOUT = 6  # it may still come true


_EXIT_OF_STATUS = {400: Exit.WRONG, 404: Exit.NOT_FOUND, 409: Exit.CONFLICT, 412: Exit.CONFLICT, 413: Exit.WRONG, 422: Exit.WRONG}


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


class Api:
    """Speaks to one gateway. Not for several threads at once."""

    def __init__(self, url: str = DEFAULT_URL) -> None:
        self.url = url.rstrip("/")
        self._client = httpx.Client(base_url=self.url, timeout=TIMEOUT_SECONDS, headers={"Accept": "application/json"})

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the connections."""
        self._client.close()

    def request(
        self, method: str, path: str, *, body: object = None, query: Mapping[str, str | int] | None = None
    ) -> dict[str, Any]:
        """One request; the answer's JSON object.

        Raises:
            ApiError: with the exit code and what to do.
        """
        try:
            answer = self._client.request(method, path, json=body, params=query)
        except httpx.TimeoutException:
            detail = f"{self.url} did not answer within {TIMEOUT_SECONDS:g} s. Look at its log, or try again."
            raise ApiError(Exit.TIMEOUT, {"detail": detail}) from None
        except httpx.HTTPError as error:
            detail = (
                f"nothing answers at {self.url} ({error}). Start it with `rocketconnect up`, or give --url or ROCKETCONNECT_URL."
            )
            raise ApiError(Exit.UNAVAILABLE, {"detail": detail}) from None
        try:
            document = answer.json()
        except json.JSONDecodeError:
            document = {
                "detail": f"{self.url}{path} answered {answer.status_code} with something that is not JSON: {answer.text[:200]}"
            }
            if answer.is_success:
                raise ApiError(Exit.FAILED, document) from None
        if answer.is_success:
            return dict(document)
        fallback = Exit.UNAVAILABLE if answer.status_code in (502, 503, 504) else Exit.FAILED
        raise ApiError(_EXIT_OF_STATUS.get(answer.status_code, fallback), document)

    def pages(self, path: str, field: str) -> Iterator[dict[str, Any]]:
        """All items of a paged list."""
        token = ""
        while True:
            page = self.request("GET", path, query={"pageSize": PAGE, "pageToken": token})
            yield from page.get(field, [])
            token = page.get("nextPageToken", "")
            if not token:
                return
