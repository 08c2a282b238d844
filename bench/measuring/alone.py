"""A service started alone: nothing that it asks is there."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import httpx
from grpc_health.v1 import health_pb2, health_pb2_grpc

from bench.workload import BenchFailed
from rocketconnect_cli.instance.topology import STORES

_NOWHERE = "127.0.0.1:1"
_LIMIT_SECONDS = 60.0
_POLL_SECONDS = 0.005


def seconds_to_healthy(service: str, data: Path) -> float:
    """Start a service, wait until it says that it is well, and end it; return the seconds from its start to its answer.

    Raises:
        BenchFailed: it does not become healthy.
    """
    reading, writing = os.pipe()
    begin = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", f"services.{service}", "--announce-fd", str(writing)],
        env=_environment(data),
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    try:
        os.close(writing)
        with open(reading, encoding="utf-8") as announced:  # noqa: PTH123 - a descriptor
            line = announced.readline()
        if not line:
            msg = f"the {service} service ended before it served anything"
            raise BenchFailed(msg)
        address = str(json.loads(line)["address"])
        while not _is_well(service, address):
            if time.monotonic() - begin > _LIMIT_SECONDS:
                msg = f"the {service} service is not healthy after {_LIMIT_SECONDS:g} s"
                raise BenchFailed(msg)
            time.sleep(_POLL_SECONDS)
        return time.monotonic() - begin
    finally:
        process.terminate()
        process.wait(_LIMIT_SECONDS)


def _environment(data: Path) -> Mapping[str, str]:
    told = {f"{name}_address": _NOWHERE for name in STORES}
    told |= {"name_server": _NOWHERE, "data_dir": str(data), "port": "0", "drain_seconds": "0"}
    return {**os.environ, **{f"ROCKETCONNECT_{name.upper()}": value for name, value in told.items()}}


def _is_well(service: str, address: str) -> bool:
    if service == "exporter":
        # It serves; what it tells is of the others, for which it waits.
        return True
    if service == "gateway":
        with suppress(httpx.TransportError):
            return httpx.get(f"http://{address}/healthz").is_success
        return False
    with grpc.insecure_channel(address) as channel, suppress(grpc.RpcError):
        stub: Any = health_pb2_grpc.HealthStub(channel)
        answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=1)
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)
    return False
