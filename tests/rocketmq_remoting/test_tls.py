"""TLS: a real name server and broker that speak nothing else."""

import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketconnect_cli.embedded import EmbeddedRocketMQ
from rocketmq_remoting import Client, Message, NameServersUnavailable, PullStream, RetriableError, TlsOptions, encode_batch

pytestmark = pytest.mark.rocketmq

_UNTRUSTED = "certificate verify failed"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a self-signed certificate for the name `rocketmq.test`."""
    folder = tmp_path_factory.mktemp("tls")
    made = f"-keyout {folder / 'key.pem'} -out {folder / 'cert.pem'}"
    subject = "-subj /CN=rocketmq.test -addext subjectAltName=DNS:rocketmq.test"
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 {subject} {made}"
    subprocess.run(command.split(), check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def tls(certificate: Path) -> TlsOptions:
    context = ssl.create_default_context(cafile=str(certificate / "cert.pem"))
    return TlsOptions(context, server_hostname="rocketmq.test")


@pytest.fixture(scope="module")
def secured(certificate: Path, tls: TlsOptions, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a name server that, like its broker, speaks TLS only."""
    configuration = certificate / "tls.properties"
    configuration.write_text(
        "tls.test.mode.enable=false\ntls.server.need.client.auth=none\ntls.client.authServer=false\n"
        f"tls.server.keyPath={certificate / 'key.pem'}\ntls.server.certPath={certificate / 'cert.pem'}\n"
    )
    # The launcher's own check for readiness speaks no TLS, so only its commands are used.
    server = EmbeddedRocketMQ(tmp_path_factory.mktemp("rocketmq"))
    server.prepare()
    environment = {
        **server.environment,
        # The launcher's commands switch TLS off; this variable wins over them.
        "_JAVA_OPTIONS": f"-Dtls.server.mode=enforcing -Dtls.enable=true -Dtls.config.file={configuration}",
    }
    processes = []
    try:
        for command in (server.name_server_command(), server.broker_command()):
            processes.append(
                subprocess.Popen(
                    command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
                )
            )
        with Client(server.name_server, tls=tls) as client:
            deadline = time.monotonic() + 60
            while True:
                try:
                    client.create_topic("ready", queues=1)
                    break
                except RetriableError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.2)
        yield server.name_server
    finally:
        for process in processes:
            process.kill()
            process.wait()
        server.stop()


def test_messages_go_and_come_over_tls(secured: str, tls: TlsOptions) -> None:
    bodies = [b"%06d" % number * 20 for number in range(20_000)]
    with Client(secured, tls=tls, timeout=10) as client:
        client.create_topic("over_tls", queues=1)
        (queue,) = client.queues("over_tls", writable=True)
        client.send(queue, Message(bodies[0]))
        client.send_batch(queue, encode_batch(bodies[1:]))
        client.barrier(queue.broker, 10)
        with PullStream(client, queue, 0) as stream:
            found: list[bytes] = []
            while len(found) < len(bodies):
                batch = stream.next(10)
                assert batch is not None
                found += batch.bodies
        assert found == bodies


def test_a_certificate_for_another_name_is_refused(secured: str, tls: TlsOptions) -> None:
    options = TlsOptions(tls.context)
    with Client(secured, tls=options, timeout=5) as client, pytest.raises(NameServersUnavailable, match=_UNTRUSTED):
        client.topics()


def test_an_unknown_certificate_is_refused(secured: str) -> None:
    options = TlsOptions(ssl.create_default_context(), "rocketmq.test")
    with Client(secured, tls=options, timeout=5) as client, pytest.raises(NameServersUnavailable, match=_UNTRUSTED):
        client.topics()


@pytest.mark.slow
def test_a_client_without_tls_gets_a_clear_error(secured: str) -> None:
    with Client(secured, timeout=3) as client, pytest.raises(NameServersUnavailable, match="no name server answered"):
        client.topics()
