"""How a connector is told of a store and of who it is there."""

import re
from collections.abc import Iterable
from dataclasses import replace
from importlib.util import find_spec
from urllib.parse import urlsplit

from connectors.objects.google import key_problem
from connectors.objects.location import (
    AZURE,
    FOLDER,
    GOOGLE,
    HDFS,
    S3,
    Location,
    endpoint_problem,
    parse_url,
    servers,
    servers_problem,
)
from connectors.objects.logins import AzureLogin, GoogleLogin, HdfsLogin, Login, S3Login, account_key_problem, token_problem
from rocketconnect_sdk.configuration.references import REFERENCE
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.permissions.connections import problem as host_problem
from rocketconnect_sdk.permissions.hosts import fix, of_urls

_SECRET = "secret.access.key"  # noqa: S105  # the name of an option
_TOKEN = "session.token"  # noqa: S105  # the name of an option
_SERVICE = "service.account.key"
_ACCOUNT = "account.name"
_KEY = "account.key"
_SAS = "sas.token"
_USER = "user.name"
_DELEGATION = "delegation.token"
_ACCOUNT_NAME = re.compile(r"[a-z0-9]{3,24}")
_USER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*[$]?")


def _account_problem(name: str) -> str | None:
    return None if not name or _ACCOUNT_NAME.fullmatch(name) else "is no name of a storage account"


def _user_problem(name: str) -> str | None:
    return None if not name or _USER_NAME.fullmatch(name) else "is no name of a user that WebHDFS takes"


_ENDPOINT = Option(
    "endpoint",
    "The URL of the server. Empty: Amazon's, for the region.",
    default="",
    check=endpoint_problem,
    fix="Write http://HOST:PORT or https://HOST, without a path.",
    reaches=of_urls,
)
_S3 = (
    Option("region", "The region of the bucket.", default="us-east-1"),
    Option(
        "virtual.host",
        "The bucket is asked for as a part of the host's name, and not of the path. Default: true for Amazon's servers, where "
        "the bucket's name has no point, and false for others.",
        Kind.BOOL,
    ),
    Option(
        "access.key.id",
        "The access key.",
        default="",
        references=True,
        aliases=("aws.access.key.id",),
        example="${env:AWS_ACCESS_KEY_ID}",
    ),
    Option(
        _SECRET,
        "The secret that belongs to it.",
        secret=True,
        aliases=("aws.secret.access.key",),
        example="${env:AWS_SECRET_ACCESS_KEY}",
    ),
    Option(_TOKEN, "The token of temporary keys.", secret=True),
)
_GOOGLE = (
    Option(
        _SERVICE,
        "Google: the key of a service account, the JSON that Google gives.",
        secret=True,
        aliases=("gcs.credentials.json",),
    ),
)
_AZURE = (
    Option(
        _ACCOUNT,
        "Azure: the storage account.",
        default="",
        check=_account_problem,
        fix="Give 3 to 24 lower-case letters and digits.",
        aliases=("azblob.account.name",),
    ),
    Option(_KEY, "Azure: a key of the storage account, or sas.token.", secret=True, aliases=("azblob.account.key",)),
    Option(
        _SAS,
        "Azure: a shared access signature for the container or the account, or account.key.",
        secret=True,
        aliases=("azblob.sas.token",),
    ),
)
_HDFS = (
    Option(
        _USER,
        "HDFS: the user, whom a cluster without Kerberos believes.",
        default="",
        check=_user_problem,
        fix="Give letters, digits, points, hyphens and underscores, a letter first.",
    ),
    Option(_DELEGATION, "HDFS: a delegation token, as hdfs fetchdt gives it, in place of user.name.", secret=True),
)

SERVER = (_ENDPOINT, *_S3)
"""The options of a server of S3: `endpoint`, `region`, `virtual.host`, `access.key.id`, `secret.access.key`, `session.token`."""

SERVERS = (
    replace(
        _ENDPOINT,
        doc="The URL of the server. Empty: Amazon's for the region, Google's, or Azure's for the account. For Azure the account is "
        "its path where the host does not name it, as http://127.0.0.1:10000/devstoreaccount1. For HDFS the HTTP address of the "
        "NameNode, or of several with commas between them, of which one is active; empty: port 9870 of the host in url.",
        check=servers_problem,
        fix="Write http://HOST:PORT or https://HOST, for Azure with /ACCOUNT where the host does not name it.",
        reaches=lambda urls: of_urls(servers(urls)),
    ),
    *(replace(each, doc=f"S3: {each.doc[0].lower()}{each.doc[1:]}") for each in _S3),
    *_GOOGLE,
    *_AZURE,
    *_HDFS,
)
"""Those of S3, of Google (`service.account.key`), of Azure (`account.name`, `account.key`, `sas.token`) and of HDFS."""

_WHO = ("access.key.id", _SECRET, _TOKEN, _SERVICE, _KEY, _SAS, _DELEGATION)
_PACKAGES: dict[str, tuple[str, ...]] = {S3: ("obstore",), GOOGLE: ("obstore", "cryptography"), AZURE: ("obstore",), HDFS: ()}
_ASKS = "is not given, and the store asks who it is"
_OF = {
    S3: ("s3://BUCKET/PREFIX", [option.key for option in SERVER]),
    GOOGLE: ("gs://BUCKET/PREFIX", [_ENDPOINT.key, *(option.key for option in _GOOGLE)]),
    AZURE: ("az://CONTAINER/PREFIX", [_ENDPOINT.key, *(option.key for option in _AZURE)]),
    HDFS: ("hdfs://HOST/FOLDER", [_ENDPOINT.key, *(option.key for option in _HDFS)]),
}
"""By kind of place how it is written, and the options that mean something with it."""


def place_of(config: Config) -> Location:
    """What the option url names."""
    return parse_url(config["url"])


def login_of(config: Config, place: Location | None = None) -> Login:
    """How the server is reached.

    Args:
        config: The configuration.
        place: What is reached, which is no folder; None: what the option url names.
    """
    place, endpoint = place or place_of(config), config["endpoint"]
    if place.kind == GOOGLE:
        return GoogleLogin(endpoint, config[_SERVICE] or "")
    if place.kind == AZURE:
        return AzureLogin(endpoint, config[_ACCOUNT], config[_KEY] or "", (config[_SAS] or "").removeprefix("?"))
    if place.kind == HDFS:
        return HdfsLogin(endpoint, config[_USER], config[_DELEGATION] or "")
    given = config["virtual.host"]
    virtual = "." not in place.bucket and not endpoint if given is None else given
    keys = (config["access.key.id"], config[_SECRET] or "", config[_TOKEN] or "")
    return S3Login(endpoint, config["region"], virtual, *keys)


def name_of(config: Config) -> str:
    """What has one owner: the place, however it is written. Containers of Azure have their names within an account."""
    place = place_of(config)
    if place.kind == HDFS:
        return place.name(login_of(config).url(place.bucket))
    return place.name(login_of(config).url("") if place.kind == AZURE else config["endpoint"])


def login_problems(config: Config, place: Location | None = None, key: str = "url") -> Iterable[Problem]:
    """What is missing or too much. What the environment of an executor says of a cloud is its operator's, and never used.

    Args:
        config: The configuration.
        place: What is reached; None: what the option url names.
        key: The option that names it.
    """
    place = place or place_of(config)
    kind = place.kind
    yield from _foreign_problems(config, kind)
    if kind == FOLDER:
        return
    if refused := _refused(config, place):
        yield refused
    if missing := next((package for package in _PACKAGES[kind] if find_spec(package) is None), None):
        fix = "Install it where the executors run: pip install 'rocketconnect[object-store]'."
        yield Problem(key, config[key], f"needs the Python package {missing}, which this executor does not have", fix)
    else:
        yield from _who_problems(config, kind)


def _foreign_problems(config: Config, kind: str) -> Iterable[Problem]:
    """Options of another kind of place than the one that is named."""
    shown, known = ("a folder", []) if kind == FOLDER else (f"{kind}://", _OF[kind][1])
    for option in (*SERVER, *_GOOGLE, *_AZURE, *_HDFS):
        if option.key not in known and (given := config.raw.get(option.key)):
            written = next(written for written, keys in _OF.values() if option.key in keys)
            value = "" if option.secret else given
            yield Problem(option.key, value, f"means nothing with {shown}", f"Remove it, or name {written}.")


def _who_problems(config: Config, kind: str) -> Iterable[Problem]:
    """Of who we are there, as far as it is known already."""
    named = servers(config["endpoint"])
    if kind != HDFS and len(named) > 1:
        yield Problem("endpoint", config["endpoint"], "names several servers", "Name one.")
    elif kind != AZURE and any(urlsplit(url).path for url in named):
        yield Problem("endpoint", config["endpoint"], "has a path", "Write http://HOST:PORT or https://HOST.")
    if kind == S3:
        for key in ("access.key.id", _SECRET):
            if not config[key]:
                fix = "Set access.key.id, and secret.access.key to a reference such as ${env:SECRET}."
                yield Problem(key, "", _ASKS, fix)
    elif kind == GOOGLE:
        given = config[_SERVICE]
        reason = _ASKS if not given else None if REFERENCE.fullmatch(given) else key_problem(given)
        if reason:
            yield Problem(
                _SERVICE, "", reason, "Set it to a reference to the JSON, such as ${env:GOOGLE_KEY}, or ${vault:PATH:KEY}."
            )
    elif kind == HDFS:
        yield from _hdfs_problems(config)
    else:
        yield from _account_problems(config)


def _hdfs_problems(config: Config) -> Iterable[Problem]:
    if not config["endpoint"] and not place_of(config).bucket:
        fix = "Set it to the HTTP address of the NameNode, such as http://namenode:9870, or name its host in url."
        yield Problem("endpoint", "", "is not given, and url names no host", fix)
    if not config[_USER] and not config[_DELEGATION]:
        yield Problem(_USER, "", _ASKS, "Set user.name, or delegation.token to a reference such as ${env:TOKEN}.")
    elif config[_USER] and config[_DELEGATION]:
        yield Problem(_USER, config[_USER], "is given besides delegation.token", "Remove one of them.")


def _account_problems(config: Config) -> Iterable[Problem]:
    if not config[_ACCOUNT]:
        yield Problem(
            _ACCOUNT, "", "is not given, and the container is one of a storage account", "Set it to the name of the account."
        )
    if not config[_KEY] and not config[_SAS]:
        yield Problem(_KEY, "", _ASKS, "Set account.key, or sas.token, to a reference such as ${env:SECRET}.")
    elif config[_KEY] and config[_SAS]:
        yield Problem(_SAS, "", "is given besides account.key", "Remove one of them.")
    for key, wrong in ((_KEY, account_key_problem), (_SAS, token_problem)):
        if (given := config[key]) and not REFERENCE.fullmatch(given) and (reason := wrong(given)):
            yield Problem(key, "", reason, "Copy it anew from the storage account to where the reference leads.")


def may_ask(config: Config, place: Location | None = None) -> bool:
    """Whether there is a store that can be asked: where keys are still references, it is seen when the task starts.

    Args:
        config: The configuration.
        place: What is reached; None: what the option url names.
    """
    place = place or place_of(config)
    kind = place.kind
    if kind == FOLDER or any(find_spec(package) is None for package in _PACKAGES[kind]):
        return False
    if _refused(config, place) or next(iter(_who_problems(config, kind)), None) is not None:
        return False
    return not any(REFERENCE.fullmatch(config[key] or "") for key in _OF[kind][1] if key in _WHO)


def _refused(config: Config, place: Location) -> Problem | None:
    """The server that the executor lets no connector speak to, also where no endpoint is given."""
    for host, port in of_urls(servers(login_of(config, place).url(place.bucket))):
        if reason := host_problem(host, port):
            return Problem("endpoint", config["endpoint"], reason, fix(host))
    return None
