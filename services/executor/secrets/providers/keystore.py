"""`${keystore:NAME}`: secrets that the config service keeps sealed, and that are opened here."""

from collections.abc import Mapping
from pathlib import Path

from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.permissions.names import is_named
from services.executor.secrets.keystore_access import CONFIG_ADDRESS, KEYS, NAMES, OWN_TOKEN, TLS_CA, TLS_CERT, TLS_KEY
from services.executor.secrets.providers.provider import Unresolved

_SECONDS = 5.0
"""How long an answer of the config service may take (invariant 8)."""


class Keystore:
    """Asks the config service for sealed secrets, and opens them with the operator's keys. A Provider.

    Args:
        environment: That of this process.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def look_up(self, name: str) -> str:
        """See Provider."""
        from rocketconnect_kit.sealing import CannotOpen, Keys

        file, allowed = self._environment.get(KEYS, ""), self._environment.get(NAMES, "")
        if not file:
            raise Unresolved(
                reason="stands for a secret in the keystore, of which this executor lets no connector read any: it has no keys",
                fix=f"Start the executor with the --keystore-keys (or {KEYS}) of the config service.",
            )
        if not is_named(name, allowed):
            raise Unresolved(
                reason="stands for a secret in the keystore that this executor lets no connector read",
                fix=f"Add {name} to the executor's --keystore-names (or {NAMES}), and start it again.",
            )
        sealed = self._sealed(name)
        try:
            return Keys.read(Path(file)).open(name, sealed)
        except ValueError as error:
            raise Unresolved(
                reason=f"is in the keystore, and the file of the executor's --keystore-keys cannot be used: {error}",
                fix="Put the file of the config service there, readable for the executor.",
            ) from None
        except CannotOpen as error:
            raise Unresolved(
                reason=f"is in the keystore, and does not open here: {error}",
                fix="Give the executor the keys of the config service, or store the secret again with `rocketconnect secret set`.",
            ) from None

    def _sealed(self, name: str) -> str:
        """The secret as it is stored.

        Raises:
            Unresolved: there is none.
            SystemAway: the config service does not answer.
        """
        import grpc
        from rocketconnect.keystore.v1 import keystore_service_pb2 as pb
        from rocketconnect.keystore.v1.keystore_service_pb2_grpc import KeystoreServiceStub

        from rocketconnect_kit.calls.channel import sync_channel
        from rocketconnect_kit.serving.status import decode
        from rocketconnect_kit.settings import ServiceSettings

        files = (TLS_CA, TLS_CERT, TLS_KEY, OWN_TOKEN)
        ca, cert, key, token = (Path(path) if (path := self._environment.get(one)) else None for one in files)
        settings = ServiceSettings(tls_ca=ca, tls_cert=cert, tls_key=key, token_file=token)
        try:
            with sync_channel(self._environment.get(CONFIG_ADDRESS, ""), settings, service="config") as channel:
                request = pb.ReadSealedSecretRequest(name=name)
                return KeystoreServiceStub(channel).ReadSealedSecret(request, timeout=_SECONDS).sealed
        except grpc.RpcError as error:
            said = decode(error)
            if said.code in ("NOT_FOUND", "INVALID_ARGUMENT"):
                raise Unresolved(
                    reason="stands for a secret that is not in the keystore", fix=f"Store it: rocketconnect secret set {name}."
                ) from None
            msg = f"the config service does not give the secret {name!r} from the keystore: {said.message}"
            raise SystemAway(msg) from None
