"""MongoDB's client, and its errors in our words.

https://www.mongodb.com/docs/manual/reference/error-codes/
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bson.codec_options import CodecOptions
from bson.errors import InvalidBSON
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient
from pymongo.errors import (
    AutoReconnect,
    ConfigurationError,
    ConnectionFailure,
    DocumentTooLarge,
    InvalidOperation,
    OperationFailure,
    ProtocolError,
    PyMongoError,
)

from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import Config

_LOGIN = frozenset({11, 13, 18, 33, 334})
"""UserNotFound, Unauthorized, AuthenticationFailed, AuthSchemaIncompatible, AuthenticationAbandoned."""
_LATER = frozenset({6, 7, 43, 50, 63, 89, 91, 112, 133, 150, 189, 216, 222, 234, 262, 290, 9001, 10107, 11600, 11602})
"""Servers that are not reached, or not the primary, shut down, elect another one, have lost a cursor, give up."""
_STALE = frozenset({13388, 13435, 13436, 14031, 17280})
"""The same with older numbers, and servers that are full."""


def client_of(config: Config, *, seconds: float = 0.0, raw: bool = False) -> MongoClient[Any]:
    """A client that connects when it is first used. It repeats no writes by itself, and what it writes is on most servers' disks.

    Args:
        config: The configuration.
        seconds: How long an answer may take; 0: as configured.
        raw: Documents are given as the server sends them, undecoded.
    """
    milliseconds = round((seconds or config["request.timeout"]) * 1000)
    more = {
        "username": config["user"],
        "password": config["password"],
        "authSource": config["auth.source"] if config["user"] else "",
        "authMechanism": config["auth.mechanism"],
        "tlsCAFile": config["ssl.ca.location"],
        "tlsCertificateKeyFile": config["ssl.certificate.location"],
    }
    return MongoClient(
        config["url"],
        document_class=RawBSONDocument if raw else dict,
        appname="RocketConnect",
        connectTimeoutMS=milliseconds,
        serverSelectionTimeoutMS=milliseconds,
        socketTimeoutMS=milliseconds,
        retryWrites=False,
        w="majority",
        journal=True,
        **{name: value for name, value in more.items() if value},
    )


OPTIONS: CodecOptions[dict[str, Any]] = CodecOptions(uuid_representation=4)
"""UUIDs are those of the specification (subtype 4)."""


@contextmanager
def own_errors(place: str) -> Iterator[None]:
    """Errors of the client within the block become ours.

    Raises:
        SystemAway: no server answers, or takes anything now.
        PermanentError: it does not take who we are, or what we ask.
    """
    try:
        yield
    except OperationFailure as error:
        message = str((error.details or {}).get("errmsg", error))
        told = of_server(place, error.code, message) or PermanentError(f"{place}: the server refuses the request: {message}")
        raise told from error
    except (ConfigurationError, InvalidOperation, DocumentTooLarge) as error:
        msg = f"{place}: {error}"
        raise PermanentError(msg) from error
    except (AutoReconnect, ConnectionFailure, OSError) as error:
        msg = f"{place}: no server answers: {_short(error)}"
        raise SystemAway(msg) from error
    except (InvalidBSON, ProtocolError, KeyError, TypeError) as error:
        # The client takes answers apart as they come.
        msg = f"{place}: what answers there speaks no MongoDB that the client understands: {error!r}"
        raise SystemAway(msg) from error
    except PyMongoError as error:
        msg = f"{place}: {error}"
        raise PermanentError(msg) from error


def of_server(place: str, code: int | None, message: str) -> SystemAway | PermanentError | None:
    """The error where a code is about the server, or who asks it; None: it is about what was asked."""
    if code in _LOGIN:
        fix = "Correct user and password, or give the user the roles that it needs: readWrite to write, read to read"
        return PermanentError(f"{place}: the server refuses the user: {message}. {fix}")
    if code in _LATER or code in _STALE:
        return SystemAway(f"{place}: the server takes nothing for now: {message}")
    return None


def _short(error: BaseException) -> str:
    """Without the topology, which names every server once more."""
    return str(error).partition(" (configured timeouts")[0].partition(", Topology Description")[0]
