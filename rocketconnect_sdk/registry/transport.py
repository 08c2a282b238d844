"""Requests to a registry that has several URLs."""

import json
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.http import HttpClient, Login, Tls
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.registry.answers import NoAnswer, RegistryRejected, content

_FORM = "application/vnd.schemaregistry.v1+json"
_ACCEPTED = f"{_FORM}, application/vnd.schemaregistry+json;q=0.9, application/json;q=0.8"


class Transport:
    """Asks the URLs of a registry, one after the other, until one answers. The one that did is asked first the next time.

    Args:
        config: Has the options of rocketconnect_sdk.registry.options, with references resolved.

    Raises:
        PermanentError: the file with certificates cannot be used.
    """

    def __init__(self, config: Config) -> None:
        user, _, password = (config["basic.auth.user.info"] or "").partition(":")
        token = config["bearer.auth.token"] or ""
        login = Login(token=token) if token else Login(user, password)
        tls = Tls(config["schema.registry.ssl.ca.location"], prefix="schema.registry.")
        # Each is asked, whatever the one before has done: nothing is there twice that is asked for twice.
        self._clients = [
            HttpClient(
                [url],
                login,
                tls,
                seconds=config["schema.registry.timeout"],
                headers={"Accept": _ACCEPTED, "Content-Type": _FORM},
                timeout_option="schema.registry.timeout",
            )
            for url in config["schema.registry.url"]
        ]
        self._first = 0
        self._lock = Lock()

    def call(self, method: str, path: str, body: object = None, parameters: Mapping[str, str] | None = None) -> Any:
        """The JSON of an answer.

        Raises:
            SystemAway: none of the URLs answers as a registry does.
            PermanentError: the registry does not let us in.
            RegistryRejected: it does not do it.
        """
        reasons: list[str] = []
        waits: list[float] = []
        data = b"" if body is None else json.dumps(body).encode()
        for turn in range(len(self._clients)):
            number = (self._first + turn) % len(self._clients)
            client = self._clients[number]
            try:
                # A registry is asked once for each schema: no connection is kept for the next time, and none is there to be closed.
                with self._lock, closing(client):
                    found = content(client.ask(method, path, data, parameters=parameters), datetime.now(UTC))
            except SystemAway as error:
                reasons.append(str(error))
            except NoAnswer as error:
                reasons.append(f"{client.place} {error}")
                if error.wait is not None:
                    waits.append(error.wait)
            except RegistryRejected as error:
                self._first = number
                if error.status in (401, 403):
                    raise PermanentError(_not_let_in(client.place, error)) from None
                raise
            else:
                self._first = number
                return found
        msg = f"the schema registry does not answer: {'; '.join(reasons)}"
        raise SystemAway(msg, wait=min(waits) if waits else None)


def _not_let_in(url: str, error: RegistryRejected) -> str:
    fix = (
        "Give basic.auth.user.info=${env:NAME} with USER:PASSWORD, or bearer.auth.token, or mend what is there."
        if error.status == 401
        else "Give its user the right to do this, or take another user."
    )
    return f"the schema registry {url} answers {error.status}: {error.reason}. {fix}"
