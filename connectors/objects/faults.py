"""What an error of a store means. Pure."""

import re
from enum import Enum
from http import HTTPStatus

from connectors.objects.location import AZURE, FTP, GOOGLE, HDFS, S3, SFTP, Location
from rocketconnect_sdk.errors import ConnectorError, PermanentError, RetriableError, SystemAway

_CODE = re.compile(r"<Code>([A-Za-z0-9]{1,64})</Code>")
_STATUS = re.compile(r"status code: ([0-9]{3})")
_UNREACHABLE = re.compile(r"error sending request|timed? ?out|dns error|connection (?:refused|reset|closed)", re.IGNORECASE)
_KEYS = frozenset(
    {
        *("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired"),
        *("AuthenticationFailed", "InvalidAuthenticationInfo"),
    }
)
_REGION = frozenset({"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"})
_REDIRECT = "redirect without LOCATION"


class Fault(Enum):
    """What is wrong."""

    AWAY = "does not answer"
    BUSY = "is busy"
    NO_BUCKET = "has no such bucket"
    NO_CONTAINER = "has no such container"
    KEYS = "does not know these keys"
    DENIED = "does not allow it"
    REGION = "has the bucket in another region"
    ELSEWHERE = "leads to a host that no connector may speak to"
    UNABLE = "cannot do it"
    FULL = "has no room for it"
    NO_WEBHDFS = "does not speak WebHDFS"
    UNKNOWN = "is not known to be the one that it should be"
    ENDLESS = "has folders in each other without end"
    OTHER = "has refused it"


_FIXES = {
    S3: {
        Fault.KEYS: "Set access.key.id and secret.access.key to a pair that is valid",
        Fault.DENIED: "Allow s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket on the bucket and the prefix",
        Fault.UNABLE: "Use a store with conditional writes (If-Match and If-None-Match of PutObject)",
    },
    GOOGLE: {
        Fault.KEYS: "Set service.account.key to a key that is valid, and see that the clock of the executor is right",
        Fault.DENIED: "Give the service account the role Storage Object User on the bucket (Storage Object Viewer to read)",
    },
    AZURE: {
        Fault.KEYS: "Set account.key to a key of the account, or sas.token to one that is valid now",
        Fault.DENIED: "See that account.key is a key of the account, or that sas.token allows to read, add, create, write, delete "
        "and list, and that the network rules of the account let the executor in",
    },
    HDFS: {
        Fault.KEYS: "Set user.name, or delegation.token to one that is valid now; Kerberos itself connectors do not speak",
        Fault.DENIED: "Let the user read and write the folder, or set user.name to one who may",
        Fault.UNABLE: "Name a NameNode of Hadoop 3, or one of 2.9 and later",
        Fault.FULL: "Raise the quota of the folder, or remove what nobody needs",
        Fault.NO_WEBHDFS: "Set endpoint to the HTTP address of the NameNode (dfs.namenode.http-address, often port 9870), which is "
        "not the one of fs.defaultFS",
    },
    SFTP: {
        Fault.KEYS: "Set username, and password or private.key, to those of an account of the server",
        Fault.DENIED: "Let the user read and list the folder, and write there what the connector writes, moves or removes",
        Fault.UNABLE: "Name a server that speaks SFTP, and to write one with posix-rename@openssh.com, such as OpenSSH",
        Fault.FULL: "See whether the disk is full or a quota is used up, and what the log of the server says",
        Fault.UNKNOWN: "If ssh-keygen -lf shows the same on the server, set host.fingerprint to it, or add the line of ssh-keyscan "
        "to the file known.hosts; if another key was known before, ask who runs the server first",
        Fault.ENDLESS: "Remove the link that leads to a folder above it, or name another folder in path",
    },
    FTP: {
        Fault.KEYS: "Set username and password to those of an account of the server",
        Fault.DENIED: "Let the user read and list the folder, and remove or rename what the connector removes or moves",
        Fault.UNABLE: "Name a server that speaks FTP in passive mode, and with explicit TLS unless tls=false",
        Fault.UNKNOWN: "Set ssl.ca.location to the certificate that has signed that of the server",
        Fault.ENDLESS: "Remove the link that leads to a folder above it, or name another folder in path",
    },
}
_FIX = {
    Fault.NO_BUCKET: "Make the bucket, or name another one in url",
    Fault.NO_CONTAINER: "Make the container, or name another one in url",
    Fault.REGION: "Set region to that of the bucket",
    Fault.ELSEWHERE: "Name a store that does not redirect requests there, or have the host added to --connector-hosts",
    Fault.UNABLE: "Use a store with conditional writes",
}


def fault_of(error: BaseException, place: Location) -> tuple[Fault, str]:
    """What an error of obstore means, and what the server said, in a few words without any value of the request."""
    text = str(error)
    code, status = _CODE.search(text), _STATUS.search(text)
    said = " ".join(filter(None, (status and status[1], code and code[1])))
    name, number = code[1] if code else "", int(status[1]) if status else 0
    unable = type(error).__name__ in ("NotSupportedError", "NotImplementedError")
    found = {
        Fault.NO_BUCKET: name == "NoSuchBucket",
        Fault.NO_CONTAINER: name == "ContainerNotFound",
        # Google says of a token that it does not take no more than that.
        Fault.KEYS: name in _KEYS or (place.kind == GOOGLE and number == HTTPStatus.UNAUTHORIZED),
        Fault.REGION: name in _REGION or number == HTTPStatus.MOVED_PERMANENTLY or _REDIRECT in text,
        # So answers rocketconnect_sdk.permissions.forwarding.
        Fault.ELSEWHERE: number == HTTPStatus.MISDIRECTED_REQUEST,
        Fault.DENIED: number in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN),
        Fault.UNABLE: unable or number == HTTPStatus.NOT_IMPLEMENTED,
        Fault.BUSY: number == HTTPStatus.TOO_MANY_REQUESTS or number >= HTTPStatus.INTERNAL_SERVER_ERROR,
        Fault.AWAY: not number and _UNREACHABLE.search(text) is not None,
    }
    fault = next((each for each, holds in found.items() if holds), Fault.OTHER)
    return fault, said or {Fault.AWAY: "no connection", Fault.REGION: "a redirect"}.get(fault, type(error).__name__)


def understood(error: BaseException, place: Location) -> ConnectorError:
    """The error that says what the task does about one of obstore."""
    return meaning(*fault_of(error, place), place)


def meaning(fault: Fault, said: str, place: Location) -> ConnectorError:
    """The error that says what the task does about a fault, of which the store said this."""
    if fault in (Fault.AWAY, Fault.BUSY):
        return SystemAway(f"{place}: the store {fault.value} ({said})")
    if fault is Fault.FULL:
        return RetriableError(f"{place}: the store {fault.value} ({said}). {fix_of(fault, place.kind)}")
    if fix := fix_of(fault, place.kind):
        return PermanentError(f"{place}: the store {fault.value} ({said}). {fix}")
    return RetriableError(f"{place}: the store {fault.value} ({said})")


def fix_of(fault: Fault, kind: str) -> str:
    """What to do about it with a kind of store, as a sentence without its end; empty: it ends by itself."""
    return _FIXES[kind].get(fault) or _FIX.get(fault, "")
