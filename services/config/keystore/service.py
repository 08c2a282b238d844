"""The RPCs of the keystore: seal, store, and tell names."""

import asyncio

from google.protobuf.timestamp_pb2 import Timestamp
from rocketconnect.keystore.v1 import keystore_service_pb2 as pb
from rocketconnect.keystore.v1.keystore_service_pb2_grpc import KeystoreServiceServicer

from rocketconnect_kit import pages
from rocketconnect_kit.errors import FailedPrecondition, ServiceError
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.sealing import CannotOpen, Keys
from rocketconnect_kit.serving.interception import ServicerContext
from rocketconnect_sdk.configuration.runtime_options import CLASS
from services.config import checks, wire
from services.config.keystore.moving import moved, secret_name_problems, value_problems
from services.config.keystore.store import SecretStore, Stored
from services.config.store import ConfigStore
from services.config.validation.executors import Executors, validate_in_turn
from services.config.validation.ours import Ours
from services.config.validation.verdicts import FRESH_SECONDS

_PAGE = 500

_log = get_logger(__name__)


class KeystoreService(KeystoreServiceServicer):
    """See keystore_service.proto for what each RPC promises. Errors of the domain pass through to the kit's interceptor.

    Args:
        secrets: Where they are.
        keys: What seals them; None: there is no keystore.
        store: Knows the executors that there are.
        executors: Say which options are secrets.
    """

    def __init__(self, secrets: SecretStore, keys: Keys | None, store: ConfigStore, executors: Executors) -> None:
        self._secrets = secrets
        self._keys = keys
        self._store = store
        self._executors = executors

    async def SetSecret(self, request: pb.SetSecretRequest, context: ServicerContext) -> pb.SetSecretResponse:
        """Seal and store."""
        checks.refuse([*secret_name_problems(request.name), *value_problems(request.value)])
        if self._keys is None:
            message = (
                "this instance has no keystore: make its keys with `rocketconnect secret new-key FILE`, and start the config "
                "service and the executors with --keystore-keys FILE, or `rocketconnect up` with ROCKETCONNECT_KEYSTORE_KEYS=FILE"
            )
            raise FailedPrecondition("NO_KEYSTORE", message)
        sealed = self._keys.seal(request.name, request.value)
        time = await asyncio.to_thread(self._secrets.put, {request.name: sealed})
        _log.info("secret stored", secret=request.name)
        return pb.SetSecretResponse(secret=_secret(Stored(request.name, sealed, time)))

    async def ListSecrets(self, request: pb.ListSecretsRequest, context: ServicerContext) -> pb.ListSecretsResponse:
        """Return a page of names."""
        size = pages.page_size(request.page_size)
        after = pages.decode_token("secrets", request.page_token) or ""
        found = await asyncio.to_thread(self._secrets.page, after, size + 1)
        return pb.ListSecretsResponse(
            secrets=map(_secret, found[:size]),
            next_page_token=pages.encode_token("secrets", found[size - 1].name) if len(found) > size else "",
        )

    async def DeleteSecret(self, request: pb.DeleteSecretRequest, context: ServicerContext) -> pb.DeleteSecretResponse:
        """Remove it."""
        checks.refuse(secret_name_problems(request.name))
        await asyncio.to_thread(self._secrets.delete, request.name)
        _log.info("secret deleted", secret=request.name)
        return pb.DeleteSecretResponse()

    async def MoveSecrets(self, request: pb.MoveSecretsRequest, context: ServicerContext) -> pb.MoveSecretsResponse:
        """Make the configuration one of ours; ask an executor which options are secrets; seal and store those that are values."""
        ours = Ours.of(request.config)
        if ours.problems:
            # Whoever stores it next is told what is wrong with it, as it was given.
            return pb.MoveSecretsResponse(config=request.config)
        config, secret_keys = ours.config, frozenset[str]()
        if self._keys is not None and not checks.name_problems(request.connector) and checks.fits(config):
            secret_keys = await self._secret_keys(request.connector, config)
            config, values = moved(request.connector, config, secret_keys, self._keys)
            if values and not request.dry_run:
                await asyncio.to_thread(self._secrets.add, {name: self._keys.seal(name, value) for name, value in values.items()})
                _log.info("secrets of a configuration moved into the keystore", connector=request.connector, names=sorted(values))
        warnings = checks.without_secrets(ours.warnings, ours.config, secret_keys)
        return pb.MoveSecretsResponse(config=config, warnings=map(wire.problem, warnings))

    async def ReadSealedSecret(self, request: pb.ReadSealedSecretRequest, context: ServicerContext) -> pb.ReadSealedSecretResponse:
        """Return it as it is stored."""
        checks.refuse(secret_name_problems(request.name))
        found = await asyncio.to_thread(self._secrets.get, request.name)
        return pb.ReadSealedSecretResponse(sealed=found.sealed)

    async def _secret_keys(self, connector: str, config: dict[str, str]) -> frozenset[str]:
        workers = await asyncio.to_thread(self._store.workers, FRESH_SECONDS)
        capable = [worker for worker in workers if worker.plugin(config.get(CLASS.key, "")) is not None]
        if not capable:
            return frozenset()
        try:
            return (await validate_in_turn(self._executors, capable, connector, config)).secret_keys
        except ServiceError as error:
            # Whoever stores the configuration next is told the same, and that a literal is no reference.
            _log.warning("which options are secrets is not known", connector=connector, cause=error.message)
            return frozenset()


def seal_anew(secrets: SecretStore, keys: Keys) -> None:
    """Seal with the first key what another one has sealed, so that this one can be thrown away. What none opens stays as it is."""
    after = ""
    while page := secrets.page(after, _PAGE):
        for each in page:
            if keys.is_of_first(each.sealed):
                continue
            try:
                value = keys.open(each.name, each.sealed)
            except CannotOpen as error:
                _log.warning("a secret does not open", secret=each.name, cause=str(error))
                continue
            secrets.replace(each.name, each.sealed, keys.seal(each.name, value))
        after = page[-1].name


def _secret(stored: Stored) -> pb.Secret:
    time = Timestamp()
    time.FromMicroseconds(stored.update_time)
    return pb.Secret(name=stored.name, update_time=time)
