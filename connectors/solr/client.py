"""Servers of Solr: their options, and whether one answers."""

from collections.abc import Iterable, Mapping
from contextlib import closing
from urllib.parse import quote

from connectors.solr.updates import reason_of
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.errors import Problem, SystemAway
from rocketconnect_sdk.http import AUTH, REQUEST_TIMEOUT, TLS, Answer, HttpClient, login_of, tls_of, urls_option
from rocketconnect_sdk.options import Config

SERVERS = (
    urls_option(
        "The servers, separated by commas: https://HOST:8983. Where one can't be reached the next one is asked.",
        "Write https://HOST:8983, without a path; a user in `user`, a password in `password`.",
        "http://127.0.0.1:8983",
    ),
    *AUTH,
    *TLS,
    REQUEST_TIMEOUT,
)
"""The options of the servers: `url`, who we are, whom we trust, `request.timeout`."""
_CHECK_SECONDS = 3.0
_ABSENT = 404


class NoSolr(SystemAway):
    """What answers is no Solr."""


def client_of(config: Config) -> HttpClient:
    """A client of the servers."""
    return _client(config, config["request.timeout"])


def json_of(answer: Answer) -> object:
    """What an answer says; None: it is no JSON."""
    try:
        return answer.json()
    except ValueError:
        return None


def ping(client: HttpClient) -> None:
    """Returns when a server answers.

    Raises:
        NoSolr: it is something else, or is about to start.
        SystemAway, NotLetIn: as HttpClient.asked.
    """
    answer = client.ask("GET", "/solr/admin/info/system", parameters={"wt": "json"})
    if answer.is_good and isinstance(found := json_of(answer), Mapping) and "responseHeader" in found:
        return
    # Who may write need not be allowed to ask this.
    if answer.status == 403:
        return
    if answer.is_busy or answer.status == 401:
        raise client.problem(answer)
    msg = f"{client.place} answers {answer.status} as no Solr that is up does: {answer.said()}"
    raise NoSolr(msg)


def lacks(client: HttpClient, collection: str) -> bool:
    """Whether there is no such collection."""
    answer = client.ask("GET", f"/solr/{quote(collection)}/schema/uniquekey", parameters={"wt": "json"})
    return answer.status == _ABSENT and reason_of(json_of(answer)) is None


def server_problems(config: Config) -> Iterable[Problem]:
    """Connects. A server that does not answer now may do so later, and is waited for: a warning."""
    return _asked(config)


@preflight()
def _asked(config: Config) -> Iterable[Problem]:
    with closing(_client(config, min(_CHECK_SECONDS, config["request.timeout"]))) as client:
        try:
            ping(client)
        except NoSolr as error:
            yield Problem("url", ", ".join(config["url"]), str(error), "Correct the URL.", is_warning=True)
            return
        if "${" not in (name := config["collection"]) and lacks(client, name):
            fix = "Make it, or correct the name: the connector waits for it."
            yield Problem("collection", name, f"is not there at {client.place}", fix, is_warning=True)


def _client(config: Config, seconds: float) -> HttpClient:
    return HttpClient(config["url"], login_of(config), tls_of(config), seconds=seconds)
