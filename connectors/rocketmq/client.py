"""The client of another cluster, and its errors in our words."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rocketconnect_sdk.errors import ConnectorError, PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.permissions import connections
from rocketmq_remoting import (
    BrokerFailed,
    Client,
    MessageQueue,
    NameServersUnavailable,
    NoPermission,
    NotSent,
    RocketMQError,
    TlsOptions,
    TopicNotFound,
    Unauthenticated,
)
from rocketmq_remoting import RetriableError as MayPass

_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"


def client_of(config: Config, group: str, seconds: float = 0.0, prefix: str = "") -> Client:
    """A client of a cluster; the caller closes it.

    Args:
        config: Has options.cluster_options.
        group: In whose name it reads and writes.
        seconds: How long an answer may take; 0: as the configuration says.
        prefix: What the names of these options begin with.

    Raises:
        PermanentError: a file of the TLS options can't be used.
    """
    return Client(
        list(config[f"{prefix}name.servers"]),
        access_key=config[f"{prefix}access.key"] or None,
        secret_key=config[f"{prefix}secret.key"] or None,
        tls=_tls(config, prefix) if config[f"{prefix}tls"] else None,
        group=group,
        timeout=seconds or config["request.timeout"],
        locate=_located,
    )


def place_of(config: Config, prefix: str = "") -> str:
    """What a cluster is called in messages."""
    return ",".join(config[f"{prefix}name.servers"])


@contextmanager
def told(place: str) -> Iterator[None]:
    """Errors of the client are told as ours."""
    try:
        yield
    except RocketMQError as error:
        raise fault_of(error, place) from error


def prove(client: Client) -> None:
    """Returns when a broker takes who we are, whatever we may do there: name servers ask nobody.

    Raises:
        RocketMQError: it does not, or there is none.
    """
    for each in client.admin.brokers():
        if each.master is not None:
            # A topic that each broker has. What we may not do there, and what is not there, says that it knows us.
            with suppress(NoPermission, TopicNotFound):
                client.min_offset(MessageQueue(each.name, each.name, 0))
            return
    msg = "the name servers know no broker. Start one"
    raise NameServersUnavailable(msg)


def fault_of(error: RocketMQError, place: str) -> ConnectorError:
    """The error of a connector that stands for one of the client."""
    msg = f"{place}: {error}"
    if _UNTRUSTED in str(error):
        fix = "Correct ssl.ca.location, or name in ssl.server.name what the certificates are made out to"
        return PermanentError(f"{msg}. {fix}")
    if isinstance(error, Unauthenticated):
        return PermanentError(f"{msg}. Correct access.key and secret.key")
    if isinstance(error, BrokerFailed):
        return RetriableError(msg)
    # One that is not there may come; and what did not happen, or may have, may do so later.
    return SystemAway(msg) if isinstance(error, TopicNotFound | MayPass) else PermanentError(msg)


def _located(host: str, port: int) -> str:
    """The address of a server, if connectors may speak to it: the name servers name brokers, and nobody has looked at these yet."""
    try:
        found = connections.addresses(host, port)
    except connections.HostRefused as error:
        msg = f"a server of the cluster is {host}:{port}: {error}"
        raise NoPermission(msg) from error
    except OSError as error:
        msg = f"can't connect to {host}:{port}: {error}"
        raise NotSent(msg) from error
    return found[0][1] if found else host


def _tls(config: Config, prefix: str) -> TlsOptions:
    ca, certificate, key, name = (
        config[f"{prefix}ssl.{part}"] or None for part in ("ca.location", "certificate.location", "key.location", "server.name")
    )
    try:
        return TlsOptions.of_files(ca, certificate, key, name)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(filter(None, (ca, certificate, key)))
        msg = f"the certificates ({files}) can't be used: {error}. Name valid PEM files in {prefix}ssl.*"
        raise PermanentError(msg) from error
