"""How a connector is told of a store and of who it is there."""

from collections.abc import Iterable
from importlib.util import find_spec

from connectors.objects.place import FOLDER, Login, Place, endpoint_problem, parse_url
from rocketconnect_sdk.configuration.references import REFERENCE
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.permissions.connections import problem as host_problem
from rocketconnect_sdk.permissions.hosts import fix, of_urls

_SECRET = "secret.access.key"  # noqa: S105  # the name of an option
_TOKEN = "session.token"  # noqa: S105  # the name of an option

SERVER = (
    Option(
        "endpoint",
        "The URL of the server. Empty: Amazon's, for the region.",
        default="",
        check=endpoint_problem,
        fix="Write http://HOST:PORT or https://HOST, without a path.",
        reaches=of_urls,
    ),
    Option("region", "The region of the bucket.", default="us-east-1"),
    Option(
        "virtual.host",
        "The bucket is asked for as a part of the host's name, and not of the path. Default: true for Amazon's servers, where "
        "the bucket's name has no point, and false for others.",
        Kind.BOOL,
    ),
    Option("access.key.id", "The access key.", default="", references=True, aliases=("aws.access.key.id",)),
    Option(_SECRET, "The secret that belongs to it.", secret=True, aliases=("aws.secret.access.key",)),
    Option(_TOKEN, "The token of temporary keys.", secret=True),
)
"""The options of a server: `endpoint`, `region`, `virtual.host`, `access.key.id`, `secret.access.key`, `session.token`."""


def place_of(config: Config) -> Place:
    """What the option url names."""
    return parse_url(config["url"])


def login_of(config: Config) -> Login:
    """How the server is reached."""
    given, bucket = config["virtual.host"], place_of(config).bucket
    virtual = "." not in bucket and not config["endpoint"] if given is None else given
    keys = (config["access.key.id"], config[_SECRET] or "", config[_TOKEN] or "")
    return Login(config["endpoint"], config["region"], virtual, *keys)


def login_problems(config: Config) -> Iterable[Problem]:
    """What is missing or too much. What the environment of an executor says of AWS is its operator's, and never used."""
    if place_of(config).kind == FOLDER:
        for option in SERVER:
            if given := config.raw.get(option.key):
                shown = "" if option.secret else given
                yield Problem(option.key, shown, "means nothing with a folder", "Remove it, or name s3://BUCKET/PREFIX.")
        return
    if refused := _refused(config):
        yield refused
    for key in ("access.key.id", _SECRET):
        if not config[key]:
            fix = "Set access.key.id, and secret.access.key to a reference such as ${env:SECRET}."
            yield Problem(key, "", "is not given, and the store asks who it is", fix)
    if find_spec("obstore") is None:
        fix = "Install it where the executors run: pip install 'rocketconnect[object-store]'."
        yield Problem("url", config["url"], "needs the Python package obstore, which this executor does not have", fix)


def may_ask(config: Config) -> bool:
    """Whether there is a store that can be asked: where keys are still references, it is seen when the task starts."""
    if place_of(config).kind == FOLDER or find_spec("obstore") is None:
        return False
    if _refused(config):
        return False
    login = login_of(config)
    return all((login.key, login.secret)) and not any(map(REFERENCE.fullmatch, (login.key, login.secret, login.token)))


def _refused(config: Config) -> Problem | None:
    """The server that the executor lets no connector speak to, also where no endpoint is given, and the region makes its name."""
    for host, port in of_urls(login_of(config).url(place_of(config).bucket)):
        if reason := host_problem(host, port):
            return Problem("endpoint", config["endpoint"], reason, fix(host))
    return None
