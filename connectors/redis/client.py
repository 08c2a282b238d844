"""Redis' client, and its errors in our words. https://redis.io/docs/latest/develop/reference/protocol-spec/ and its commands."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import redis
from redis.backoff import NoBackoff
from redis.exceptions import (
    AskError,
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ClusterDownError,
    ExecAbortError,
    MasterDownError,
    MovedError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    TryAgainError,
)
from redis.exceptions import (
    ConnectionError as NotConnected,
)
from redis.exceptions import (
    TimeoutError as NoAnswer,
)
from redis.retry import Retry
from redis.sentinel import Sentinel

from connectors.redis.servers.addresses import Address
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import Config


def client_of(config: Config, *, seconds: float = 0.0) -> redis.Redis:
    """A client that connects when it is first used. It repeats nothing by itself: a transaction may have been done.

    Behind Sentinel each connection is one to the server that is the master then. Of a cluster it is one to the first node.
    """
    address = Address.of(config["url"])
    if not address.service:
        return node_client(config, *address.nodes[0], seconds=seconds, database=address.database)
    given = _given(config, seconds)
    logins = {"username": config["sentinel.user"] or None, "password": config["sentinel.password"] or None}
    # Any: the client says no types here.
    sentinel_type: Any = Sentinel
    sentinel = sentinel_type(address.nodes, sentinel_kwargs={**given, **logins, "ssl": address.is_secure})
    # A pool that has no TLS takes no certificates.
    if address.is_secure:
        given["ssl"] = True
    else:
        del given["ssl_ca_certs"]
    return cast("redis.Redis", sentinel.master_for(address.service, db=address.database, **given))


def node_client(config: Config, host: str, port: int, *, seconds: float = 0.0, database: int = 0) -> redis.Redis:
    """A client of one server. See client_of."""
    secure = Address.of(config["url"]).is_secure
    return redis.Redis(host=host, port=port, db=database, single_connection_client=False, ssl=secure, **_given(config, seconds))


def _given(config: Config, seconds: float) -> dict[str, Any]:
    timeout = seconds or config["request.timeout"]
    return {
        "username": config["user"] or None,
        "password": config["password"] or None,
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "retry": Retry(NoBackoff(), 0),
        "ssl_ca_certs": config["ssl.ca.location"] or None,
    }


ELSEWHERE = (AskError, ClusterDownError, MovedError, TryAgainError)
"""A node of a cluster does not have a key any more, or not yet."""


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
    except ELSEWHERE as error:
        msg = f"{place}: the cluster moves keys, or is down: {error}"
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
