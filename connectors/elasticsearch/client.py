"""Servers of Elasticsearch and OpenSearch: their options, and whether one answers."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing

from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.errors import Problem, SystemAway
from rocketconnect_sdk.http import (
    AUTH,
    REQUEST_TIMEOUT,
    TLS,
    HttpClient,
    login_of,
    tls_of,
    urls_option,
)
from rocketconnect_sdk.options import Config

SERVERS = (
    urls_option(
        "The servers, separated by commas: https://HOST:9200. Where one can't be reached the next one is asked.",
        "Write https://HOST:9200, without a path; a user in `user`, a password in `password`.",
        "http://127.0.0.1:9200",
    ),
    *AUTH,
    *TLS,
    REQUEST_TIMEOUT,
)
"""The options of the servers: `url`, who we are, whom we trust, `request.timeout`."""
_CHECK_SECONDS = 3.0
_LARGEST = 64 << 20


class NoSearch(SystemAway):
    """What answers is neither Elasticsearch nor OpenSearch."""


def client_of(config: Config) -> HttpClient:
    """A client of the servers."""
    return _client(config, config["request.timeout"])


def ping(client: HttpClient) -> None:
    """Returns when a server answers. One that lacks rights or a part of itself answers with an error, and is there.

    Raises:
        NoSearch: it is something else.
        SystemAway, NotLetIn: as HttpClient.asked.
    """
    answer = client.ask("GET", "/")
    if answer.is_busy or answer.status == 401:
        raise client.problem(answer)
    try:
        is_search = isinstance(answer.json(), Mapping) and not 300 <= answer.status < 400
    except ValueError:
        is_search = False
    if not is_search:
        msg = f"{client.place} answers {answer.status} as neither Elasticsearch nor OpenSearch does: {answer.said()}"
        raise NoSearch(msg)


def server_problems(config: Config, look: Callable[[HttpClient], Iterable[Problem]] = lambda _: ()) -> Iterable[Problem]:
    """Connects. A server that does not answer now may do so later, and is waited for: a warning.

    Args:
        config: The configuration.
        look: Looks further, at a server that answers.
    """

    @preflight()
    def asked(config: Config) -> Iterable[Problem]:
        with closing(_client(config, min(_CHECK_SECONDS, config["request.timeout"]))) as client:
            try:
                ping(client)
            except NoSearch as error:
                yield Problem("url", ", ".join(config["url"]), str(error), "Correct the URL.")
            else:
                yield from look(client)

    return asked(config)


def _client(config: Config, seconds: float) -> HttpClient:
    return HttpClient(config["url"], login_of(config), tls_of(config), seconds=seconds, largest=_LARGEST)
