"""Where the other parts answer, and how they let a task in."""

from __future__ import annotations

from dataclasses import dataclass, field

from services.executor.contract.stop_limits import EXECUTOR_SECONDS, StopLimits


@dataclass(frozen=True, slots=True)
class RocketMQAccess:
    """What name servers and brokers ask of a client.

    Attributes:
        access_key: Of its user; empty: brokers without ACL.
        secret_key: Signs its requests.
        tls: They speak TLS.
        tls_ca: PEM file of who signed their certificates; None: those that the machine trusts.
        tls_cert: PEM file of our own certificate, for mutual TLS.
        tls_key: PEM file of its key.
        tls_server_name: The name in their certificates; empty: the host of each address.
    """

    access_key: str = ""
    secret_key: str = field(default="", repr=False)
    tls: bool = False
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_server_name: str = ""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where the other parts answer.

    Attributes:
        name_servers: Of RocketMQ, "host:port" separated by ";".
        position_address: Of the position service, "host:port".
        tls_ca: PEM file of who signed the position service's certificate; None: in the clear.
        tls_cert: PEM file of our own certificate, for mutual TLS.
        tls_key: PEM file of its key.
        token_file: The file with the token that the position service is shown; None: it is shown none.
        worker_id: The worker that the tasks run in.
        send_deadline: Seconds that a send may take at most; a new owner waits as long before it looks into the topic.
        rocketmq: How RocketMQ lets us in.
        limits: What a task has for its end.
        trace_records: How many messages a second a source traces; 0: nothing is traced, by no task.
        lineage: Tasks say what they read and write.
    """

    name_servers: str
    position_address: str
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    token_file: str | None = None
    worker_id: str = ""
    send_deadline: float = 2.0
    rocketmq: RocketMQAccess = RocketMQAccess()
    limits: StopLimits = field(default_factory=lambda: StopLimits.within(EXECUTOR_SECONDS))
    trace_records: float = 0.0
    lineage: bool = False
