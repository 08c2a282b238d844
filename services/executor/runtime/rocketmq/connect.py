"""The client of a task, as the executor's settings and its configuration say."""

from dataclasses import replace

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config
from rocketmq_remoting.client import Client
from rocketmq_remoting.model import TlsOptions
from services.executor.contract.endpoints import Endpoints, RocketMQAccess
from services.executor.secrets.resolving import remember


def with_user_of(config: Config, endpoints: Endpoints) -> Endpoints:
    """Where the other parts answer a connector, as the user of RocketMQ that its resolved configuration names, if it names one."""
    user, secret = config["rocketmq.access.key"], config["rocketmq.secret.key"]
    if not user:
        return endpoints
    return replace(endpoints, rocketmq=replace(endpoints.rocketmq, access_key=user, secret_key=secret))


def connect(endpoints: Endpoints, group: str) -> Client:
    """A client of the name servers in the name of a group; the caller closes it.

    Raises:
        PermanentError: a file of the TLS settings can't be used.
    """
    access = endpoints.rocketmq
    # Invariant 6: whatever quotes it.
    remember(access.secret_key)
    return Client(
        endpoints.name_servers,
        group=group,
        access_key=access.access_key or None,
        secret_key=access.secret_key or None,
        tls=_tls(access) if access.tls else None,
        # Invariant 3: a new owner waits for the send deadline, and then nothing of ours may still arrive from this machine.
        unacknowledged=endpoints.send_deadline,
    )


def _tls(access: RocketMQAccess) -> TlsOptions:
    try:
        return TlsOptions.of_files(access.tls_ca, access.tls_cert, access.tls_key, access.tls_server_name or None)
    except OSError as error:
        files = ", ".join(filter(None, (access.tls_ca, access.tls_cert, access.tls_key)))
        msg = f"the certificates for RocketMQ ({files}) can't be used: {error}: give the executor valid PEM files"
        raise PermanentError(msg) from error
