"""Requests to a registry that has several URLs."""

import ssl
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import httpx

from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.registry.answers import Answer, NoAnswer, Refused, content

_FORM = "application/vnd.schemaregistry.v1+json"
_ACCEPTED = f"{_FORM}, application/vnd.schemaregistry+json;q=0.9, application/json;q=0.8"
_LARGEST = 16 << 20
"""A longer answer is none: no schema is so large, and what is read is held in memory."""


class Transport:
    """Asks the URLs of a registry, one after the other, until one answers. The one that did is asked first the next time.

    Args:
        config: Has the options of rocketconnect_sdk.registry.options, with references resolved.

    Raises:
        PermanentError: the file with certificates cannot be used.
    """

    def __init__(self, config: Config) -> None:
        self._urls: Sequence[str] = [url.rstrip("/") for url in config["schema.registry.url"]]
        self._timeout: float = config["schema.registry.timeout"]
        self._first = 0
        headers = {"Accept": _ACCEPTED, "Content-Type": _FORM}
        auth = None
        if config["bearer.auth.token"]:
            headers["Authorization"] = f"Bearer {config['bearer.auth.token']}"
        elif config["basic.auth.user.info"]:
            user, _, password = config["basic.auth.user.info"].partition(":")
            auth = httpx.BasicAuth(user, password)
        trusted = _trusted(config["schema.registry.ssl.ca.location"])
        self._client = partial(httpx.Client, headers=headers, auth=auth, verify=trusted, timeout=self._timeout)

    def call(self, method: str, path: str, body: object = None, parameters: Mapping[str, str] | None = None) -> Any:
        """The JSON of an answer.

        Raises:
            SystemAway: none of the URLs answers as a registry does.
            PermanentError: the registry does not let us in.
            Refused: it does not do it.
        """
        reasons: list[str] = []
        waits: list[float] = []
        for turn in range(len(self._urls)):
            number = (self._first + turn) % len(self._urls)
            try:
                found = content(self._one(self._urls[number], method, path, body, parameters), datetime.now(UTC))
            except NoAnswer as error:
                reasons.append(f"{self._urls[number]} {error}")
                if error.wait is not None:
                    waits.append(error.wait)
            except Refused as error:
                self._first = number
                if error.status in (401, 403):
                    raise PermanentError(_not_let_in(self._urls[number], error)) from None
                raise
            else:
                self._first = number
                return found
        msg = f"the schema registry does not answer: {'; '.join(reasons)}"
        raise SystemAway(msg, wait=min(waits) if waits else None)

    def _one(self, url: str, method: str, path: str, body: object, parameters: Mapping[str, str] | None) -> Answer:
        deadline = time.monotonic() + self._timeout
        try:
            # A registry is asked once for each schema: no connection is kept for the next time, and none is there to be closed.
            with self._client() as client, client.stream(method, url + path, json=body, params=parameters) as response:
                data = bytearray()
                for part in response.iter_bytes(1 << 16):
                    data += part
                    if len(data) > _LARGEST:
                        msg = f"answers with more than {_LARGEST >> 20} MiB, as no schema registry does"
                        raise NoAnswer(msg)
                    if time.monotonic() > deadline:
                        msg = f"takes longer than {self._timeout:g} s (schema.registry.timeout)"
                        raise NoAnswer(msg)
                headers = response.headers
                return Answer(response.status_code, bytes(data), headers.get("content-type", ""), headers.get("retry-after", ""))
        except httpx.TimeoutException:
            msg = f"takes longer than {self._timeout:g} s (schema.registry.timeout)"
            raise NoAnswer(msg) from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            msg = f"cannot be reached: {error or type(error).__name__}"
            raise NoAnswer(msg) from None


def _trusted(place: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=place or None)
    except (OSError, ssl.SSLError) as error:
        msg = (
            f"schema.registry.ssl.ca.location={place}: {error.strerror or error}. "
            "Put a readable file with certificates (PEM) there on the executor."
        )
        raise PermanentError(msg) from None


def _not_let_in(url: str, error: Refused) -> str:
    fix = (
        "Give basic.auth.user.info=${env:NAME} with USER:PASSWORD, or bearer.auth.token, or mend what is there."
        if error.status == 401
        else "Give its user the right to do this, or take another user."
    )
    return f"the schema registry {url} answers {error.status}: {error.reason}. {fix}"
