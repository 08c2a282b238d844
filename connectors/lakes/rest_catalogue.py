"""Iceberg's REST catalogue, asked without Spark: whether it lets us in, and what it knows of a table."""

import json
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from rocketconnect_sdk.errors import PermanentError, SystemAway

TOKENS = "v1/oauth/tokens"
"""Where a catalogue gives tokens itself, beneath its address."""
SCOPE = "catalog"
_CONNECT_SECONDS = 5.0
_SEPARATOR = "\x1f"
"""Between the names of a namespace."""
_SHOWN = 300


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
    """A catalogue. Connections are made for one call: none is there to be closed, and none is shared with a forked process.

    It remembers its token, and where the catalogue has sent it. Not to be used by two threads at once.

    Args:
        login: Where it is, and who we are there.
        seconds: The time that an answer may take.
    """

    def __init__(self, login: RestLogin, seconds: float = 60.0) -> None:
        self._login = login
        self._timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        self._known: tuple[Mapping[str, str], str] | None = None

    def table(self, name: str) -> Mapping[str, Any] | None:
        """What it says of a table: `metadata-location` and `metadata`; None: there is no such table.

        Args:
            name: The names of its namespaces, and its own, with points between them.

        Raises:
            SystemAway: it does not answer, or cannot do it now.
            CatalogueRefused: it says no, or it is no such catalogue.
        """
        with httpx.Client(timeout=self._timeout) as client:
            known = self._known
            try:
                answer = self._loaded(client, name)
            except CatalogueRefused:
                if known is None:
                    raise
                # A token ends.
                self._known = None
                answer = self._loaded(client, name)
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        return self._json(answer, "table", name)

    def _loaded(self, client: httpx.Client, name: str) -> httpx.Response:
        if self._known is None:
            headers = self._headers(client)
            config = self._config(client, headers)
            settings = {**_texts(config.get("defaults")), **_texts(config.get("overrides"))}
            prefix = f"/{settings['prefix']}" if settings.get("prefix") else ""
            self._known = headers, f"{settings.get('uri', self._login.url).rstrip('/')}/v1{prefix}"
        headers, beneath = self._known
        *namespace, last = name.split(".")
        spaces = urllib.parse.quote(_SEPARATOR.join(namespace), safe="")
        return self._asked(client, "GET", f"{beneath}/namespaces/{spaces}/tables/{last}", headers=headers)

    def _headers(self, client: httpx.Client) -> Mapping[str, str]:
        login = self._login
        if login.token or not login.client:
            return {"Authorization": f"Bearer {login.token}"} if login.token else {}
        form = {"grant_type": "client_credentials", "client_id": login.client, "client_secret": login.secret, "scope": login.scope}
        answer = self._asked(client, "POST", login.tokens_url, data=form)
        if answer.status_code == httpx.codes.NOT_FOUND:
            key = "catalog.oauth2.url" if login.tokens else "catalog.url"
            fix = "Name where the catalogue's documentation says that tokens are given."
            raise CatalogueRefused(login, key, f"gives no tokens at {login.tokens_url}", fix)
        if answer.status_code in (httpx.codes.BAD_REQUEST, httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            # The answer of an OAuth2 server has no secret in it, and says which of user, password and scope is wrong.
            reason = f"is given no token: {_told(answer)}"
            raise CatalogueRefused(login, "catalog.user", reason, "Set catalog.user, catalog.password and catalog.scope.")
        token = self._json(answer, "catalog.oauth2.url", login.tokens_url).get("access_token")
        return {"Authorization": f"Bearer {token}"}

    def _config(self, client: httpx.Client, headers: Mapping[str, str]) -> Mapping[str, Any]:
        login = self._login
        wanted = {"warehouse": login.warehouse} if login.warehouse else {}
        answer = self._asked(client, "GET", f"{login.url}/v1/config", headers=headers, params=wanted)
        if answer.status_code in (httpx.codes.BAD_REQUEST, httpx.codes.NOT_FOUND):
            if _is_of_iceberg(answer):
                fix = "Name a warehouse as the catalogue does: with Polaris it is the name of a catalogue."
                raise CatalogueRefused(login, "catalog.warehouse", f"is no warehouse of the catalogue: {_told(answer)}", fix)
            fix = "Name the address beneath which v1/config is, such as https://HOST/api/catalog or https://HOST/iceberg."
            raise CatalogueRefused(login, "catalog.url", f"is no Iceberg catalogue: v1/config has status {answer.status_code}", fix)
        return self._json(answer, "catalog.url", login.url)

    def _asked(self, client: httpx.Client, method: str, url: str, **given: Any) -> httpx.Response:
        """The answer. Raises SystemAway; CatalogueRefused: nobody is let in, or not allowed to ask."""
        try:
            answer = client.request(method, url, **given)
        except httpx.HTTPError as error:
            msg = f"{self._login}: the catalogue does not answer: {error}"
            raise SystemAway(msg) from error
        if answer.status_code >= httpx.codes.INTERNAL_SERVER_ERROR or answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
            msg = f"{self._login}: the catalogue cannot answer now: {answer.status_code} {_told(answer)}"
            raise SystemAway(msg)
        if method == "GET" and answer.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            raise refused(self._login, _told(answer), is_known=answer.status_code == httpx.codes.FORBIDDEN)
        return answer

    def _json(self, answer: httpx.Response, key: str, value: str) -> Mapping[str, Any]:
        try:
            found = answer.json() if answer.is_success else None
        except (json.JSONDecodeError, UnicodeDecodeError):
            found = None
        if not isinstance(found, dict):
            reason = f"is {value}, of which the catalogue says what is no answer: {answer.status_code} {_told(answer)}"
            fix = "Name the address of an Iceberg REST catalogue, without v1."
            raise CatalogueRefused(self._login, key, reason, fix)
        return found


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


def _is_of_iceberg(answer: httpx.Response) -> bool:
    try:
        return isinstance(answer.json()["error"]["message"], str)
    except (ValueError, KeyError, TypeError):
        return False


def _told(answer: httpx.Response) -> str:
    """What an answer says of an error: as Iceberg has it, as OAuth2 has it, or as it is."""
    try:
        found = answer.json()
        error = found["error"]
        text = error["message"] if isinstance(error, dict) else f"{error}: {found.get('error_description', '')}"
    except (ValueError, KeyError, TypeError):
        text = answer.text
    return " ".join(str(text).split())[:_SHOWN]


def _texts(given: Any) -> dict[str, str]:
    return {str(key): str(value) for key, value in given.items()} if isinstance(given, dict) else {}
