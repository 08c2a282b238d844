"""A client of gRPC at the port of REST."""

import grpc.aio
import httpx
import pytest


def address(rest: httpx.AsyncClient) -> str:
    return f"{rest.base_url.host}:{rest.base_url.port}"


@pytest.fixture
def dialled() -> object:
    """Makes a channel to the gateway of a REST client, as a program of somebody's would."""

    def dial(rest: httpx.AsyncClient) -> grpc.aio.Channel:
        return grpc.aio.insecure_channel(address(rest), options=[("grpc.use_local_subchannel_pool", 1)])

    return dial
