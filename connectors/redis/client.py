"""Redis' client, and its errors in our words. https://redis.io/docs/latest/develop/reference/protocol-spec/ and its commands."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import redis
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ExecAbortError,
    MasterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
)
from redis.exceptions import (
    ConnectionError as NotConnected,
)
from redis.exceptions import (
    TimeoutError as NoAnswer,
)
from redis.retry import Retry

from connectors.redis.options import PORT
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import Config


def client_of(config: Config, *, seconds: float = 0.0) -> redis.Redis:
    """A client that connects when it is first used. It repeats nothing by itself: a transaction may have been done."""
    parts = urlsplit(config["url"])
    timeout = seconds or config["request.timeout"]
    return redis.Redis(
        host=parts.hostname or "",
        port=parts.port or PORT,
        db=int(parts.path.strip("/") or 0),
        username=config["user"] or None,
        password=config["password"] or None,
        socket_timeout=timeout,
        socket_connect_timeout=timeout,
        single_connection_client=False,
        retry=Retry(NoBackoff(), 0),
        ssl=parts.scheme == "rediss",
        ssl_ca_certs=config["ssl.ca.location"] or None,
    )


@contextmanager
def own_errors(place: str) -> Iterator[None]:
    """Errors of the client within the block become ours.

    Raises:
        SystemAway: the server does not answer, or takes nothing for now.
        PermanentError: it does not take who we are, or what we ask.
    """
    try:
        yield
    except (AuthenticationError, AuthorizationError, NoPermissionError) as error:
        fix = "Correct user and password, or give the user what is missing (ACL SETUSER)"
        msg = f"{place}: the server refuses the user: {error}. {fix}"
        raise PermanentError(msg) from error
    except (OutOfMemoryError, ReadOnlyError, BusyLoadingError, MasterDownError) as error:
        msg = f"{place}: the server takes nothing for now: {error}"
        raise SystemAway(msg) from error
    except (NotConnected, NoAnswer, OSError) as error:
        msg = f"{place}: the server does not answer: {error}"
        raise SystemAway(msg) from error
    except ExecAbortError as error:
        msg = f"{place}: the server refuses a transaction: {error.__cause__ or error}"
        raise PermanentError(msg) from error
    except RedisError as error:
        msg = f"{place}: {error}"
        raise PermanentError(msg) from error
