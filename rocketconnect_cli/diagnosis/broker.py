"""Facts of RocketMQ: its brokers, and what each says of itself."""

from collections.abc import Mapping
from typing import Any

from rocketconnect_cli.diagnosis.bundle import Bundle
from rocketconnect_cli.diagnosis.processes import ENV_PREFIX
from rocketmq_remoting import Client, RocketMQError, TlsOptions

_SECONDS = 3.0


def client_of(name_server: str, environment: Mapping[str, str]) -> Client:
    """Return a client that shows what executors show: the user of brokers with ACL, and TLS, from such an environment.

    Raises:
        RocketMQError, OSError, ValueError: they are none.
    """

    def told(name: str) -> str | None:
        return environment.get(f"{ENV_PREFIX}ROCKETMQ_{name}") or None

    files = (told("TLS_CA"), told("TLS_CERT"), told("TLS_KEY"), told("TLS_SERVER_NAME"))
    tls = TlsOptions.of_files(*files) if (told("TLS") or "").lower() in ("true", "1", "yes", "on") else None
    return Client(name_server, access_key=told("ACCESS_KEY"), secret_key=told("SECRET_KEY"), tls=tls, timeout=_SECONDS)


def facts(bundle: Bundle, name_server: str, environment: Mapping[str, str]) -> None:
    """Add which brokers the name servers know, their state, and how many topics they have.

    Args:
        bundle: Gets them.
        name_server: "host:port", several with semicolons; empty: it is not known.
        environment: Has the user of brokers with ACL, and TLS, as executors have them.
    """
    if not name_server:
        bundle.miss("RocketMQ", "its name server is not known here: give --namesrv HOST:PORT")
        return

    try:
        with client_of(name_server, environment) as client:
            bundle.document("rocketmq.json", {"nameServer": name_server, "brokers": _brokers(bundle, client)})
    except (RocketMQError, OSError, ValueError) as error:
        bundle.miss(f"RocketMQ at {name_server}", str(error))


def _brokers(bundle: Bundle, client: Client) -> list[dict[str, Any]]:
    found = []
    for broker in client.admin.brokers():
        for number, address in broker.addresses.items():
            said: dict[str, Any] = {"cluster": broker.cluster, "name": broker.name, "id": number, "address": address}
            seconds = min(_SECONDS, bundle.left)
            try:
                said["runtime"] = client.admin.runtime(address, seconds).result()
                said["topics"] = len(client.admin.topics(address, seconds).result())
            except RocketMQError as error:
                bundle.miss(f"broker {broker.name} at {address}", str(error))
                bundle.see(f"broker {broker.name} at {address} does not answer: {error}")
            found.append(said)
    return found
