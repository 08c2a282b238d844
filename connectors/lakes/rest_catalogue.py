"""Iceberg's REST catalogue, asked without Spark: whether it lets us in, and what it knows of a table."""

import urllib.parse
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.http import Answer, HttpClient, Login, NoToken, Tokens

TOKENS = "v1/oauth/tokens"
"""Where a catalogue gives tokens itself, beneath its address."""
SCOPE = "catalog"
_SEPARATOR = "\x1f"
"""Between the names of a namespace."""
_LARGEST = 256 << 20
"""What is said of a table has all of its snapshots."""


class CatalogueRefused(PermanentError):
    """It says no, or it is no such catalogue.

    Attributes:
        key: The option that is wrong.
        reason: What is wrong with its value, for people.
        fix: How to put it right.
    """

    def __init__(self, place: object, key: str, reason: str, fix: str) -> None:
        super().__init__(f"{place}: {key} {reason}. {fix}")
        self.key = key
        self.reason = reason
        self.fix = fix


@dataclass(frozen=True, slots=True)
class RestLogin:
    """A catalogue, and who we are there.

    Attributes:
        url: Its address, beneath which is `v1`; without a slash at its end.
        warehouse: Which of its warehouses; empty: it has one.
        client: Of OAuth2; empty: none.
        secret: Of the client.
        token: One that is there already; empty: it is asked for.
        scope: Of the token that is asked for.
        tokens: Where it is asked for; empty: at the catalogue.
    """

    url: str
    warehouse: str
    client: str = ""
    secret: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    scope: str = SCOPE
    tokens: str = ""

    def __str__(self) -> str:
        """The address, for people."""
        return self.url

    @property
    def tokens_url(self) -> str:
        """Where tokens are given."""
        return self.tokens or f"{self.url}/{TOKENS}"


class RestCatalogue:
    """A catalogue. It remembers its token, and where the catalogue has sent it. Not to be used by two threads at once.

    Args:
        login: Where it is, and who we are there.
        seconds: The time that an answer may take.
    """

    def __init__(self, login: RestLogin, seconds: float = 60.0) -> None:
        self._login = login
        asks = bool(login.client) and not login.token
        tokens = Tokens(login.tokens_url, login.client, login.secret, login.scope, seconds=seconds) if asks else None
        who = Login(token=login.token)
        self._http = HttpClient([login.url], who, tokens=tokens, seconds=seconds, largest=_LARGEST, timeout_option="")
        self._beneath = ""

    def table(self, name: str) -> Mapping[str, Any] | None:
        """What it says of a table: `metadata-location` and `metadata`; None: there is no such table.

        Args:
            name: The names of its namespaces, and its own, with points between them.

        Raises:
            SystemAway: it does not answer, or cannot do it now.
            CatalogueRefused: it says no, or it is no such catalogue.
        """
        *namespace, last = name.split(".")
        spaces = urllib.parse.quote(_SEPARATOR.join(namespace), safe="")
        # It is asked now and then: no connection is kept for the next time, and none is there to be closed.
        with closing(self._http):
            if not self._beneath:
                settings = self._settings()
                prefix = f"/{settings['prefix']}" if settings.get("prefix") else ""
                self._beneath = f"{settings.get('uri', self._login.url).rstrip('/')}/v1{prefix}"
            answer = self._asked(f"{self._beneath}/namespaces/{spaces}/tables/{last}")
            return None if answer.status == 404 else self._json(answer, "table", name)

    def _settings(self) -> Mapping[str, str]:
        login = self._login
        answer = self._asked("/v1/config", {"warehouse": login.warehouse} if login.warehouse else {})
        if answer.status in (400, 404):
            if _is_of_iceberg(answer):
                fix = "Name a warehouse as the catalogue does: with Polaris it is the name of a catalogue."
                raise CatalogueRefused(login, "catalog.warehouse", f"is no warehouse of the catalogue: {answer.said()}", fix)
            fix = "Name the address beneath which v1/config is, such as https://HOST/api/catalog or https://HOST/iceberg."
            raise CatalogueRefused(login, "catalog.url", f"is no Iceberg catalogue: v1/config has status {answer.status}", fix)
        config = self._json(answer, "catalog.url", login.url)
        return {**_texts(config.get("defaults")), **_texts(config.get("overrides"))}

    def _asked(self, path: str, parameters: Mapping[str, str] | None = None) -> Answer:
        """The answer. Raises SystemAway; CatalogueRefused: nobody is let in, or not allowed to ask."""
        try:
            answer = self._http.ask("GET", path, parameters=parameters)
        except NoToken as error:
            raise self._without_token(error) from error
        if answer.is_busy:
            raise self._http.problem(answer)
        if answer.status in (401, 403, 419):
            raise refused(self._login, self._http.hidden(answer.said()), is_known=answer.status == 403)
        return answer

    def _without_token(self, error: NoToken) -> CatalogueRefused:
        login = self._login
        if error.status == 404:
            key = "catalog.oauth2.url" if login.tokens else "catalog.url"
            fix = "Name where the catalogue's documentation says that tokens are given."
            return CatalogueRefused(login, key, f"gives no tokens at {login.tokens_url}", fix)
        if error.status in (400, 401, 403):
            # It says which of user, password and scope is wrong.
            fix = "Set catalog.user, catalog.password and catalog.scope."
            return CatalogueRefused(login, "catalog.user", f"is given no token: {error.said}", fix)
        return self._no_answer("catalog.oauth2.url", login.tokens_url, error.status, error.said)

    def _json(self, answer: Answer, key: str, value: str) -> Mapping[str, Any]:
        try:
            found = answer.json() if answer.is_good else None
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise self._no_answer(key, value, answer.status, self._http.hidden(answer.said()))
        return found

    def _no_answer(self, key: str, value: str, status: int, said: str) -> CatalogueRefused:
        reason = f"is {value}, of which the catalogue says what is no answer: {status} {said}"
        return CatalogueRefused(self._login, key, reason, "Name the address of an Iceberg REST catalogue, without v1.")


def refused(login: RestLogin, said: str, *, is_known: bool) -> CatalogueRefused:
    """What is wrong where a catalogue says no.

    Args:
        login: Where it is, and who we are there.
        said: What it says.
        is_known: It knows who we are, and does not allow it.
    """
    key = "catalog.token" if login.token or not login.client else "catalog.user"
    if is_known:
        fix = "Give it the rights to read and to write the table, and to make it where it is not there."
        return CatalogueRefused(login, key, f"is not allowed to do that: {said}", fix)
    fix = "Set catalog.user and catalog.password, or catalog.token."
    return CatalogueRefused(login, key, f"is let in by nobody: {said}", fix)


def _is_of_iceberg(answer: Answer) -> bool:
    try:
        return isinstance(answer.json()["error"]["message"], str)
    except (ValueError, KeyError, TypeError):
        return False


def _texts(given: Any) -> dict[str, str]:
    return {str(key): str(value) for key, value in given.items()} if isinstance(given, dict) else {}
