"""A config service that knows nothing but sealed secrets."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
from rocketconnect.keystore.v1 import keystore_service_pb2 as pb
from rocketconnect.keystore.v1.keystore_service_pb2_grpc import KeystoreServiceServicer, add_KeystoreServiceServicer_to_server

from services.executor.secrets.keystore_access import CONFIG_ADDRESS, KEYS, NAMES


class _Sealed(KeystoreServiceServicer):
    def __init__(self, sealed: Mapping[str, str], asked: list[str]) -> None:
        self._sealed = sealed
        self._asked = asked

    def ReadSealedSecret(self, request: pb.ReadSealedSecretRequest, context: grpc.ServicerContext) -> pb.ReadSealedSecretResponse:
        self._asked.append(request.name)
        if request.name not in self._sealed:
            context.abort(grpc.StatusCode.NOT_FOUND, "there is none")
        return pb.ReadSealedSecretResponse(sealed=self._sealed[request.name])


@contextmanager
def serving(sealed: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Its address, and the names that it was asked for."""
    asked: list[str] = []
    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool)
        add_KeystoreServiceServicer_to_server(_Sealed(sealed, asked), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield f"127.0.0.1:{port}", asked
        finally:
            server.stop(None).wait()


def told(address: str, keys: Path, names: str = "*") -> dict[str, str]:
    """What a host is told of a keystore."""
    return {CONFIG_ADDRESS: address, KEYS: str(keys), NAMES: names}
