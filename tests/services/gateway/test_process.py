"""The gateway as the process that `python -m services.gateway` is."""

import asyncio
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio
import httpx
import pytest
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceStub

CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")


@asynccontextmanager
async def started(addresses: dict[str, str], *flags: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, dict[str, str]]]:
    read, write = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "services.gateway", "--announce-fd", str(write), *flags),
        pass_fds=[write],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **{f"ROCKETCONNECT_{name.upper()}": value for name, value in addresses.items()}},
    )
    os.close(write)
    try:
        with os.fdopen(read) as pipe:
            line = await asyncio.wait_for(asyncio.to_thread(pipe.readline), 240)
        yield process, json.loads(line)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def code_of(call: Any) -> str:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    return str(raised.value.code().name)


async def test_it_announces_itself_answers_counts_and_drains_on_a_first_signal(system: Any) -> None:
    async with started(system.addresses, "--port", "0") as (process, said):
        assert said["service"] == "gateway"
        async with httpx.AsyncClient(base_url=f"http://{said['address']}") as rest:
            assert (await rest.get("/readyz")).json()["ready"] is True
            async with rest.stream("GET", "/v1/connectors:watch") as watch:
                lines = watch.aiter_lines()
                await anext(lines)
                metrics = (await rest.get(f"http://{said['metrics']}/metrics")).text
                assert 'rocketconnect_rest_requests_total{method="GET",route="/readyz",status="200"} 1.0' in metrics
                async with grpc.aio.insecure_channel(said["address"]) as opened:
                    changes = aiter(ConfigServiceStub(opened).WatchConnectors(config.WatchConnectorsRequest()))
                    await anext(changes)
                    process.send_signal(signal.SIGTERM)
                    assert [line async for line in lines] == []
                    # Who watches over gRPC connects again, as to a service that stops.
                    with pytest.raises(grpc.aio.AioRpcError) as ended:
                        await anext(changes)
                    assert (ended.value.code(), ended.value.details()) == (
                        grpc.StatusCode.UNAVAILABLE,
                        "the service is stopping; connect again",
                    )
        out, err = await asyncio.wait_for(process.communicate(), 15)
        assert (process.returncode, out) == (0, b"")
        assert b"Traceback" not in err


async def test_the_body_of_an_answer_does_not_wait_for_the_client_to_acknowledge_its_head(system: Any) -> None:
    """Linux acknowledges after 40 ms at the earliest what it has nothing to say to."""
    async with (
        started(system.addresses, "--port", "0") as (_, said),
        httpx.AsyncClient(base_url=f"http://{said['address']}") as rest,
    ):
        took = []
        for _ in range(20):
            began = time.perf_counter()
            await rest.get("/v1/connectors")
            took.append(time.perf_counter() - began)
        assert min(took) < 0.03


async def test_second_signal_ends_at_once(system: Any) -> None:
    system.workers.delay = 25
    async with started(system.addresses, "--port", "0", "--drain-seconds", "60", "--read-seconds", "30") as (process, said):
        async with httpx.AsyncClient(base_url=f"http://{said['address']}", timeout=30) as rest:
            call = asyncio.create_task(rest.get("/v1/workers"))
            await asyncio.sleep(0.5)
            process.send_signal(signal.SIGINT)
            await asyncio.sleep(0.5)
            assert not call.done()
            process.send_signal(signal.SIGINT)
            _, err = await asyncio.wait_for(process.communicate(), 5)
            await asyncio.gather(call, return_exceptions=True)
        assert process.returncode == 128 + signal.SIGINT
        assert b"Traceback" not in err


async def test_port_in_use_and_wrong_settings_are_explained_without_a_traceback(system: Any) -> None:
    async def refused(*flags: str) -> tuple[int | None, str]:
        environment = {**os.environ, **{f"ROCKETCONNECT_{name.upper()}": value for name, value in system.addresses.items()}}
        command = (sys.executable, "-m", "services.gateway", *flags)
        process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE, env=environment)
        _, err = await asyncio.wait_for(process.communicate(), 20)
        assert b"Traceback" not in err
        return process.returncode, err.decode()

    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, err = await refused("--port", str(taken.getsockname()[1]))
    assert code == 1
    assert "choose another --port" in err
    code, err = await refused("--port", "x", "--compat-status", "302", "--allowed-origins", "example.org")
    assert code == 2
    assert all(flag in err for flag in ("--port", "--compat-status", "--allowed-origins"))
    code, err = await refused("--state-address", "", "--cluster-address", "")
    assert code == 2
    assert "--state-address, --cluster-address: missing" in err


async def test_bytes_that_are_not_http_and_requests_of_any_shape_do_not_hurt(system: Any) -> None:
    async with started(system.addresses, "--port", "0") as (process, said):
        host, port = said["address"].split(":")
        for sent in (
            b"\x00\xff\x16\x03\x01\n\n",
            b"GET / HTTP/1.1\r\n\r\n",
            b"GET http://evil.example/v1/connectors HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"POST /connectors/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
            b"POST /connectors/x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"GET /connectors/\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"FOO\x80 / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        ):
            reader, writer = await asyncio.open_connection(host, int(port))
            try:
                writer.write(sent)
                await writer.drain()
                writer.write_eof()
                answer = await asyncio.wait_for(reader.read(), 30)
            except ConnectionError:
                # It was closed before all of it was read: the kernel resets it.
                answer = b""
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), (sent[:40], answer[:200])
            writer.close()
        async with httpx.AsyncClient(base_url=f"http://{said['address']}") as rest:
            assert (await rest.get("/v1/connectors")).status_code == 200
        process.terminate()
        _, err = await asyncio.wait_for(process.communicate(), 15)
        assert process.returncode == 0
        assert b"Traceback" not in err


async def test_it_speaks_tls_and_asks_for_a_certificate_when_it_knows_who_signs_them(system: Any, tmp_path: Path) -> None:
    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=tmp_path)

    request = (
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    )
    await asyncio.to_thread(openssl, *request, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem")
    certificate, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    flags = ("--port", "0", "--tls-cert", certificate, "--tls-key", key)
    trusting = ssl.create_default_context(cafile=certificate)
    trusts = grpc.ssl_channel_credentials((tmp_path / "cert.pem").read_bytes())
    async with started(system.addresses, *flags) as (_, said), httpx.AsyncClient(verify=trusting) as rest:
        assert (await rest.get(f"https://{said['address']}/healthz")).json() == {"alive": True}
        async with grpc.aio.secure_channel(said["address"], trusts) as opened:
            with pytest.raises(grpc.aio.AioRpcError) as raised:
                await ConfigServiceStub(opened).ListConnectors(config.ListConnectorsRequest())
            # The services behind it speak no TLS here.
            assert "config service does not answer" in (raised.value.details() or "")
        # Browsers and curl offer HTTP/2 as well, and want REST.
        for offered, agreed in ((["h2", "http/1.1"], "http/1.1"), (["h2"], "h2"), (None, None)):
            offering = ssl.create_default_context(cafile=certificate)
            if offered is not None:
                offering.set_alpn_protocols(offered)
            host, port = said["address"].split(":")
            reader, writer = await asyncio.open_connection(host, int(port), ssl=offering)
            assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == agreed
            # What was agreed on holds: HTTP/1.1 is not answered where it was HTTP/2.
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = await asyncio.wait_for(reader.read(), 60)
            assert answer.startswith(b"HTTP/1.1 200") is (agreed != "h2")
            writer.close()
    async with started(system.addresses, *flags, "--tls-ca", certificate) as (_, said):
        async with httpx.AsyncClient(base_url=f"https://{said['address']}", verify=trusting) as rest:
            with pytest.raises(httpx.HTTPError):
                await rest.get("/healthz")
        known = ssl.create_default_context(cafile=certificate)
        known.load_cert_chain(certificate, key)
        async with httpx.AsyncClient(base_url=f"https://{said['address']}", verify=known) as rest:
            assert (await rest.get("/healthz")).status_code == 200


async def test_a_client_certificate_has_the_role_that_its_name_has_in_the_file_of_callers(system: Any, tmp_path: Path) -> None:
    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=tmp_path)

    made = ("req", "-x509", *CURVE, "-nodes", "-days", "2")
    served = ("-subj", "/CN=rest", "-addext", "subjectAltName=IP:127.0.0.1")
    await asyncio.to_thread(openssl, *made, *served, "-keyout", "ca.key", "-out", "ca.pem")
    callers = tmp_path / "callers"
    callers.write_text("alice write certificate\nbob read certificate\n")
    for name in ("alice", "bob", "mallory"):
        await asyncio.to_thread(
            openssl,
            *made,
            "-subj",
            f"/CN={name}",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-keyout",
            f"{name}.key",
            "-out",
            f"{name}.pem",
        )
    ca, key = str(tmp_path / "ca.pem"), str(tmp_path / "ca.key")
    flags = ("--port", "0", "--tls-cert", ca, "--tls-key", key, "--tls-ca", ca, "--tokens-files", str(callers))
    async with started(system.addresses, *flags) as (_, said):
        codes, over_grpc = {}, {}
        for name in ("alice", "bob", "mallory"):
            known = ssl.create_default_context(cafile=ca)
            known.load_cert_chain(tmp_path / f"{name}.pem", tmp_path / f"{name}.key")
            async with httpx.AsyncClient(base_url=f"https://{said['address']}", verify=known) as rest:
                asked = [await rest.get("/v1/connectors"), await rest.post("/v1/connectors/c:pause", json={})]
                wrong = await rest.get("/v1/connectors", headers={"Authorization": "Bearer guessed"})
                codes[name] = [answer.status_code for answer in (*asked, wrong)]
            pem = [(tmp_path / each).read_bytes() for each in ("ca.pem", f"{name}.key", f"{name}.pem")]
            async with grpc.aio.secure_channel(said["address"], grpc.ssl_channel_credentials(*pem)) as opened:
                configs = ConfigServiceStub(opened)
                calls: list[Any] = [
                    configs.ListConnectors(config.ListConnectorsRequest()),
                    configs.PauseConnector(config.PauseConnectorRequest(name="c")),
                    configs.ListConnectors(config.ListConnectorsRequest(), metadata=(("authorization", "Bearer guessed"),)),
                ]
                over_grpc[name] = [await code_of(call) for call in calls]
    # The services behind it speak no TLS, so who is let in is told that they are away. A token counts where one is shown.
    assert codes == {"alice": [503, 503, 401], "bob": [503, 403, 401], "mallory": [401, 401, 401]}
    same = {503: "UNAVAILABLE", 403: "PERMISSION_DENIED", 401: "UNAUTHENTICATED"}
    assert over_grpc == {name: [same[code] for code in of_rest] for name, of_rest in codes.items()}
