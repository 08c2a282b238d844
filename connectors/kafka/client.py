"""Kafka's client, and its errors in our words. It is librdkafka, by confluent-kafka."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from logging import NullHandler, getLogger
from typing import TYPE_CHECKING, Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.permissions import connections

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
_STEP_SECONDS = 1.0
_SILENT = getLogger("confluent_kafka")
_SILENT.addHandler(NullHandler())
_SILENT.propagate = False
_USER = (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError.UNSUPPORTED_SASL_MECHANISM)  # noqa: SLF001
RIGHTS = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
_TLS = (KafkaError._SSL,)  # noqa: SLF001
AWAY = (KafkaError._ALL_BROKERS_DOWN,)  # noqa: SLF001
"""What is told when nobody answers any more."""
_TELLING = (*_USER, *RIGHTS, *_TLS)
"""What says why nobody answers."""


class Client:
    """One client of a cluster. Errors of its connections are told beside the calls, and explain these.

    Args:
        config: The options of a cluster (connectors.kafka.options).
        make: Makes the client.
        more: More settings of its.
        seconds: How long an answer may take; 0: as the configuration says.
        rights: What to do where a right is missing.
    """

    def __init__(
        self,
        config: Config,
        make: Callable[[dict[str, Any]], Any],
        more: Mapping[str, Any] | None = None,
        seconds: float = 0.0,
        rights: str = "",
    ) -> None:
        self._rights = rights or RIGHTS_FIX
        self.place = ",".join(config["bootstrap.servers"])
        self.seconds = seconds or config["request.timeout"]
        self._said: deque[KafkaError] = deque(maxlen=20)
        self.own = make({**settings_of(config, self.seconds), **(more or {}), "error_cb": self._said.append})

    def asked(self, call: Callable[[float], T]) -> T:
        """What a call with a time limit in seconds gives, tried until the time is over or something says that it is in vain.

        Raises:
            SystemAway: nobody answers.
            PermanentError: who we are is not taken, or what we ask.
        """
        until = time.monotonic() + self.seconds
        while True:
            left = until - time.monotonic()
            try:
                return call(max(0.05, min(_STEP_SECONDS, left)))
            except KafkaException as error:
                wrong: KafkaError = error.args[0]
            self.serve()
            telling = next((each for each in (wrong, *self._said) if each.code() in _TELLING), None)
            if telling is not None or left <= _STEP_SECONDS or wrong.fatal() or not is_away(wrong):
                raise self.trouble(telling or wrong)

    def serve(self) -> None:
        """Lets the client tell of its errors."""
        # One for good is raised here, and by the next call, too.
        with suppress(KafkaException):
            self.own.poll(0)

    def away(self) -> KafkaError | None:
        """Why nobody answers now; None: somebody does. Told once."""
        said, self._said = list(self._said), deque(maxlen=20)
        if not any(error.code() in (*AWAY, *_TELLING) for error in said):
            return None
        return next((error for error in said if error.code() in _TELLING), said[-1])

    def trouble(self, error: KafkaError) -> Exception:
        """One of ours for an error of the client's."""
        text = f"{self.place}: {error.str()}"
        if error.code() in _USER:
            return PermanentError(f"{text}. The cluster refuses the user: correct user, password and sasl.mechanism")
        if error.code() in RIGHTS:
            return PermanentError(f"{text}. {self._rights}")
        if error.code() in _TLS:
            return PermanentError(
                f"{text}. Name the certificates that the servers' come from in ssl.ca.location, and their own name"
            )
        if is_away(error):
            return SystemAway(f"{self.place}: the cluster does not answer: {error.str()}")
        return PermanentError(text)


RIGHTS_FIX = "Give the user the rights Read and Describe on the topic: kafka-acls --add --allow-principal User:NAME --consumer ..."


def is_away(error: KafkaError) -> bool:
    """Whether the same may succeed later."""
    # Negative ones are the client's own: nobody was reached, or nobody has answered.
    return error.code() < 0 or error.retriable()


def consumer_of(settings: dict[str, Any]) -> Any:
    """Reads. Half of its methods say no types."""
    return Consumer(settings)


def producer_of(settings: dict[str, Any]) -> Any:
    """Writes. What ends it is told by its calls, and not on the console."""
    return Producer({**settings, "logger": _SILENT})


def admin_of(settings: dict[str, Any]) -> Any:
    """Asks what there is."""
    return AdminClient(settings)


def settings_of(config: Config, seconds: float) -> dict[str, Any]:
    """The settings of a client."""
    made = {
        "bootstrap.servers": ",".join(config["bootstrap.servers"]),
        "security.protocol": config["security.protocol"],
        "client.id": "rocketconnect",
        "socket.timeout.ms": round(seconds * 1000),
        "socket.connection.setup.timeout.ms": max(1000, round(seconds * 1000)),
        "reconnect.backoff.max.ms": 2000,
        "log_level": 0,
        "ssl.ca.location": config["ssl.ca.location"],
        "ssl.certificate.location": config["ssl.certificate.location"],
        "ssl.key.location": config["ssl.key.location"],
        "ssl.key.password": config["ssl.key.password"],
    }
    if "SASL" in config["security.protocol"]:
        made |= {"sasl.mechanism": config["sasl.mechanism"], "sasl.username": config["user"], "sasl.password": config["password"]}
    return {name: value for name, value in made.items() if value not in (None, "")}


def check_brokers(brokers: Mapping[int, Any]) -> None:
    """Servers that others name are judged, as those of the configuration were: the client connects by itself.

    Raises:
        PermanentError: connectors may not speak to one of them.
    """
    for each in brokers.values():
        if reason := connections.problem(each.host, each.port):
            msg = f"a server of the cluster is named {each.host}:{each.port}: {reason}"
            raise PermanentError(msg)


@contextmanager
def made_of(config: Config) -> Iterator[None]:
    """Settings that the client refuses (a file that is no certificate) are told as that."""
    try:
        yield
    except KafkaException as error:
        msg = f"{','.join(config['bootstrap.servers'])}: the client can't be made: {error.args[0].str()}"
        raise PermanentError(msg) from error


def results(futures: Mapping[Any, "Future[Any]"], seconds: float) -> dict[Any, Any]:
    """What all of them give, in time. Raises KafkaException."""
    return {key: future.result(seconds) for key, future in futures.items()}
