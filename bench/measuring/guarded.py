"""A RocketMQ and an instance on it that speak TLS and ask who calls, and both without, to be measured side by side."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.measuring.instance import Instance, environment, instance
from rocketconnect_cli.api import Access
from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.tokens import line, new_token

_AUTH = "org.apache.rocketmq.auth"


@dataclass(frozen=True, slots=True)
class Measured:
    """An instance, and the processes of its RocketMQ, which run beside it."""

    it: Instance
    roots: Sequence[int]


@contextmanager
def in_the_clear(place: Path) -> Iterator[Measured]:
    """Nobody is asked anything. RocketMQ is started as the guarded one is."""
    with _rocketmq(place, {}, {}) as server, instance("--namesrv", server.name_server) as it:
        yield Measured(it, _roots(server))


@contextmanager
def guarded(place: Path) -> Iterator[Measured]:
    """Executors speak TLS to name server and broker, which look at a signature of each request; REST asks for a token.

    Between the services of one machine nothing changes: they carry positions, and no records.
    """
    cert, key, callers = place / "rocketmq.pem", place / "rocketmq.key", place / "callers"
    made = f"-subj /CN=rocketmq -addext subjectAltName=DNS:rocketmq -keyout {key} -out {cert}"
    subprocess.run(f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 {made}".split(), check=True, capture_output=True)
    token, secret = new_token(), new_token()
    callers.write_text(line("bench", Role.WRITE, token), encoding="utf-8")
    java = {
        # Who asks whether it is up does that in the clear; the executors are told to speak TLS, and would not speak otherwise.
        "tls.server.mode": "permissive",
        "tls.test.mode.enable": "false",
        "tls.server.need.client.auth": "none",
        "tls.server.certPath": str(cert),
        "tls.server.keyPath": str(key),
    }
    told = {
        "ROCKETCONNECT_ROCKETMQ_TLS": "true",
        "ROCKETCONNECT_ROCKETMQ_TLS_CA": str(cert),
        "ROCKETCONNECT_ROCKETMQ_TLS_SERVER_NAME": "rocketmq",
        "ROCKETCONNECT_ROCKETMQ_ACCESS_KEY": "bench",
        "ROCKETCONNECT_ROCKETMQ_SECRET_KEY": secret,
    }
    with _rocketmq(place, acl("bench", secret), java) as server, environment(told):
        options = ("--namesrv", server.name_server, "--tokens-file", str(callers))
        with instance(*options, access=Access(token)) as it:
            yield Measured(it, _roots(server))


def acl(user: str, secret: str) -> Mapping[str, str]:
    """Return the settings of a broker that looks at the signature of each request, and has one user, who may do everything."""
    return {
        "authenticationEnabled": "true",
        "authenticationProvider": f"{_AUTH}.authentication.provider.DefaultAuthenticationProvider",
        "authenticationMetadataProvider": f"{_AUTH}.authentication.provider.LocalAuthenticationMetadataProvider",
        "authorizationEnabled": "true",
        "authorizationProvider": f"{_AUTH}.authorization.provider.DefaultAuthorizationProvider",
        "authorizationMetadataProvider": f"{_AUTH}.authorization.provider.LocalAuthorizationMetadataProvider",
        "initAuthenticationUser": json.dumps({"username": user, "password": secret}),
        "innerClientAuthenticationCredentials": json.dumps({"accessKey": user, "secretKey": secret}),
    }


@contextmanager
def _rocketmq(place: Path, broker: Mapping[str, str], java: Mapping[str, str]) -> Iterator[EmbeddedRocketMQ]:
    server = EmbeddedRocketMQ(place / "rocketmq", broker_settings=broker, system_properties=java)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def _roots(server: EmbeddedRocketMQ) -> Sequence[int]:
    return [process.pid for process in server.processes.values()]
