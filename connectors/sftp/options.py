"""How a connector is told of a server of SFTP, of who it has to be, and of who we are there."""

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec

from connectors.objects.faults import Fault, fix_of, meaning
from connectors.objects.files import Files, NotThere, StoreRejected
from connectors.objects.location import SFTP, Location
from connectors.sftp.login import SftpLogin
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.configuration.references import REFERENCE
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.http.options import REQUEST_TIMEOUT
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.permissions.hosts import of_host
from rocketconnect_sdk.permissions.roots import Access

CHECK_SECONDS = 5.0
"""A check waits no longer for an answer."""
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_KEYS = ("private.key", "private.key.location")


def _host_problem(host: str) -> str | None:
    return None if re.fullmatch(r"[A-Za-z0-9._:-]+", host) else "is no name and no address of a host"


def path_problem(path: str) -> str | None:
    """What is wrong with the path of a folder of a server; None: nothing."""
    if not path or not path.isprintable() or any(part in (".", "..") for part in path.split("/")):
        return "is no path of a folder"
    return None


def _fingerprints_problem(fingerprints: Sequence[str]) -> str | None:
    wrong = next((each for each in fingerprints if not _FINGERPRINT.fullmatch(each)), None)
    return None if wrong is None else f"has {wrong!r}, which is no fingerprint"


def host_option(protocol: str) -> Option:
    """The option `host`."""
    return Option(
        "host",
        f"The server of {protocol}: its name or its address.",
        required=True,
        check=_host_problem,
        fix="Write a name or an address, without a port and without a path.",
        reaches=of_host,
        example="127.0.0.1",
    )


PATH = Option(
    "path",
    "The folder on the server. Without a slash at its beginning it is below the folder that a login leads to.",
    required=True,
    check=path_problem,
    fix="Write a path such as /data/orders, without . and .. in it.",
    example="/data/orders",
)

SERVER = (
    host_option("SFTP"),
    Option("port", "Its port.", Kind.INT, "22", minimum=1, maximum=65535),
    Option("username", "The user of the server.", required=True, references=True, aliases=("user",), example="shop"),
    Option(
        "password",
        "The password of the user, also where the server asks for it by keyboard-interactive.",
        secret=True,
        example="${env:SFTP_PASSWORD}",
    ),
    Option("private.key", "A private key of the user: the text that ssh-keygen writes, of OpenSSH or PEM.", secret=True),
    Option(
        "private.key.location",
        "The path of a file with a private key, in place of private.key.",
        default="",
        access=Access.READ,
    ),
    Option("private.key.passphrase", "The passphrase of the private key.", secret=True),
    Option(
        "known.hosts",
        "The path of a file with the host keys of servers, as OpenSSH has it in ~/.ssh/known_hosts.",
        default="",
        access=Access.READ,
    ),
    Option(
        "host.fingerprint",
        "The fingerprint of the host key that the server has to show, as ssh-keygen -lf writes it; or several with commas.",
        Kind.LIST,
        "",
        check=_fingerprints_problem,
        fix="Write SHA256: and the 43 letters, digits, + and / that follow it.",
    ),
    PATH,
    REQUEST_TIMEOUT,
)
"""The options of a server of SFTP, of who we are there, and of a folder."""


def folder_of(config: Config) -> str:
    """The path of the folder, in one form."""
    return re.sub("//+", "/", config["path"]).rstrip("/") or "/"


def place_of(config: Config) -> Location:
    """The folder."""
    return Location(SFTP, f"{config['host']}:{config['port']}", folder_of(config))


def login_of(config: Config, seconds: float | None = None) -> SftpLogin:
    """How the server is reached.

    Args:
        config: The configuration.
        seconds: How long it may be silent; None: as the configuration says.
    """
    return SftpLogin(
        config["host"],
        config["port"],
        config["username"],
        config["password"] or "",
        config["private.key"] or "",
        config["private.key.location"],
        config["private.key.passphrase"] or "",
        config["known.hosts"],
        config["host.fingerprint"],
        config["request.timeout"] if seconds is None else seconds,
    )


def login_problems(config: Config) -> Iterable[Problem]:
    """What is missing or too much of who we are, and of how the server is known. Connects to nothing."""
    given = [key for key in _KEYS if config[key]]
    if len(given) > 1:
        yield Problem(given[1], config[given[1]], "is given besides private.key", "Remove one of them.")
    if not given and not config["password"]:
        fix = "Set it, or private.key, to a reference such as ${env:PASSWORD}, or private.key.location."
        yield Problem("password", "", "is not given, and neither is a private key", fix)
    if config["private.key.passphrase"] and not given:
        yield Problem("private.key.passphrase", "", "is there without a private key", "Set private.key, or remove it.")
    if find_spec("asyncssh") is None:
        fix = "Install it where the executors run: pip install 'rocketconnect[sftp]'."
        yield Problem("host", config["host"], "needs the Python package asyncssh, which this executor does not have", fix)


def is_known(config: Config) -> bool:
    """Whether all that a login needs is here: what is still a reference is looked up where the task runs."""
    secrets = ("username", "password", "private.key", "private.key.passphrase")
    return find_spec("asyncssh") is not None and not any(REFERENCE.search(config[key] or "") for key in secrets)


@preflight(away=("host", "Start the server, or correct host and port."), refused=("username", "Put right what it says."))
def key_problems(config: Config) -> Iterable[Problem]:
    """A server that nobody knows: asks it for its host key, and tells nothing of who we are."""
    if config["known.hosts"] or config["host.fingerprint"] or find_spec("asyncssh") is None:
        return
    place = place_of(config)
    reason = "is not given, and neither is known.hosts, so nothing says which server is the right one"
    try:
        SftpLogin(config["host"], config["port"], "nobody", seconds=CHECK_SECONDS).files(place).status("")
    except StoreRejected as error:
        if error.fault is not Fault.UNKNOWN:
            yield Problem("host.fingerprint", "", reason, "Set it to what ssh-keygen -lf shows on the server.")
            return
        yield Problem("host.fingerprint", "", f"{reason}: {error.said}", f"{fix_of(error.fault, SFTP)}.")


LOOKS = preflight(away=("host", "Start the server, or correct host and port."), refused=("path", "Put right what it says."))
"""Makes a check of one that looks at the server."""


@LOOKS
def read_problems(config: Config) -> Iterable[Problem]:
    """Asks the server for the folder, from which somebody reads."""
    return _looked(config, writes=False)


@LOOKS
def write_problems(config: Config) -> Iterable[Problem]:
    """Asks the server for the folder, to which somebody writes."""
    return _looked(config, writes=True)


def _looked(config: Config, *, writes: bool) -> Iterator[Problem]:
    if is_known(config) and (config["known.hosts"] or config["host.fingerprint"]):
        place = place_of(config)
        yield from asked(config, place, login_of(config, CHECK_SECONDS).files(place), "host.fingerprint", writes=writes)


def asked(config: Config, place: Location, files: Files, known: str, *, writes: bool) -> Iterator[Problem]:
    """What is wrong with a folder, as its server sees it.

    Args:
        config: The configuration.
        place: The folder.
        files: What is below it.
        known: The option that says which server is the right one.
        writes: Somebody writes there, who makes it where it is not there.

    Raises:
        ConnectorError: see Files; it names the option that is wrong, where that is known.
    """
    try:
        found = files.status("")
        if not found.is_folder:
            yield Problem("path", config["path"], "is a file", "Name a folder, and a file in it with pattern.")
        elif not writes:
            next(iter(files.listed("")), None)
    except NotThere:
        if not writes:
            yield Problem("path", config["path"], "is not there yet", "Make the folder, or name another one.", is_warning=True)
    except StoreRejected as error:
        made = meaning(error.fault, error.said, place)
        named = {Fault.KEYS: "username", Fault.UNKNOWN: known}.get(error.fault)
        raise made.naming(named) if named and isinstance(made, PermanentError) else made from None
    finally:
        files.close()
