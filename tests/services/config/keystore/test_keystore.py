"""The keystore of the config service, on a real server, over SQLite and PostgreSQL."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import grpc
import pytest
import sqlalchemy as sa
from rocketconnect.config.v1 import config_service_pb2 as config_pb
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.keystore.v1 import keystore_service_pb2 as pb
from rocketconnect.keystore.v1 import keystore_service_pb2_grpc as rpc

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.errors import InvalidArgument, NotFound, Unavailable
from rocketconnect_kit.sealing import CannotOpen, Keys
from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.settings import ServiceSettings
from rocketconnect_kit.testing import server_for_test
from services.config import tables
from services.config.keystore.service import KeystoreService, seal_anew
from services.config.keystore.store import SecretStore
from services.config.store import ConfigStore
from services.config.validation.executors import GrpcExecutors
from tests.services.config.conftest import GOOD, Clock, Running, clock, engine, service, start, store, store_url

__all__ = ["clock", "engine", "service", "start", "store", "store_url"]

OLD, NEW = Keys([b"o" * 32]), Keys([b"n" * 32, b"o" * 32])
CANARY = "hunter2-canary"


@pytest.fixture
def secrets(engine: sa.Engine, clock: Clock) -> SecretStore:
    return SecretStore(engine, clock)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as made:
        yield made


async def keystore(stack: AsyncExitStack, secrets: SecretStore, store: ConfigStore, keys: Keys | None = OLD) -> Any:
    executors = GrpcExecutors(ServiceSettings())
    stack.push_async_callback(executors.close)
    one = KeystoreService(secrets, keys, store, executors)
    address = await stack.enter_async_context(
        server_for_test(lambda server: rpc.add_KeystoreServiceServicer_to_server(one, server))
    )
    return rpc.KeystoreServiceStub(await stack.enter_async_context(channel(address, ServiceSettings())))


def dump(engine: sa.Engine) -> str:
    """Everything that the store holds."""
    with engine.connect() as connection:
        return repr([connection.execute(sa.select(table)).all() for table in tables.metadata.sorted_tables])


async def test_a_secret_is_stored_sealed_and_listed_by_name(
    stack: AsyncExitStack, secrets: SecretStore, store: ConfigStore, engine: sa.Engine
) -> None:
    stub = await keystore(stack, secrets, store)
    answer = await stub.SetSecret(pb.SetSecretRequest(name="db.password", value=CANARY))
    assert answer.secret.name == "db.password"
    assert answer.secret.update_time.seconds == 1_700_000_000
    for name in ("a", "z"):
        await stub.SetSecret(pb.SetSecretRequest(name=name, value=CANARY))
    first = await stub.ListSecrets(pb.ListSecretsRequest(page_size=2))
    rest = await stub.ListSecrets(pb.ListSecretsRequest(page_size=2, page_token=first.next_page_token))
    assert [each.name for each in (*first.secrets, *rest.secrets)] == ["a", "db.password", "z"]
    sealed = (await stub.ReadSealedSecret(pb.ReadSealedSecretRequest(name="db.password"))).sealed
    assert OLD.open("db.password", sealed) == CANARY
    assert CANARY not in dump(engine) + repr((answer, first, rest, sealed))


async def test_a_secret_is_replaced_and_deleted(stack: AsyncExitStack, secrets: SecretStore, store: ConfigStore) -> None:
    stub = await keystore(stack, secrets, store)
    for value in ("first", "second"):
        await stub.SetSecret(pb.SetSecretRequest(name="a", value=value))
    assert OLD.open("a", secrets.get("a").sealed) == "second"
    await stub.DeleteSecret(pb.DeleteSecretRequest(name="a"))
    for call in (stub.DeleteSecret(pb.DeleteSecretRequest(name="a")), stub.ReadSealedSecret(pb.ReadSealedSecretRequest(name="a"))):
        with pytest.raises(grpc.RpcError) as raised:
            await call
        assert decode(raised.value).reason == "SECRET_NOT_FOUND"


async def test_what_is_wrong_is_told_without_the_secret(stack: AsyncExitStack, secrets: SecretStore, store: ConfigStore) -> None:
    stub = await keystore(stack, secrets, store)
    with pytest.raises(grpc.RpcError) as raised:
        await stub.SetSecret(pb.SetSecretRequest(name="a/b", value=CANARY * 10_000))
    error = decode(raised.value)
    assert isinstance(error, InvalidArgument)
    assert [problem.field for problem in error.problems] == ["name", "value"]
    assert CANARY not in str(raised.value)


async def test_without_keys_nothing_is_stored_and_nothing_is_moved(
    stack: AsyncExitStack, secrets: SecretStore, store: ConfigStore, service: Running
) -> None:
    stub = await keystore(stack, secrets, store, None)
    with pytest.raises(grpc.RpcError) as raised:
        await stub.SetSecret(pb.SetSecretRequest(name="a", value=CANARY))
    assert decode(raised.value).reason == "NO_KEYSTORE"
    config = {**GOOD, "password": CANARY}
    assert (await stub.MoveSecrets(pb.MoveSecretsRequest(connector="c", config=config))).config == config
    assert secrets.page("", 10) == []


async def test_literals_of_a_configuration_are_moved_and_the_configuration_is_then_taken(
    stack: AsyncExitStack, secrets: SecretStore, store: ConfigStore, engine: sa.Engine, service: Running
) -> None:
    stub = await keystore(stack, secrets, store)
    request = pb.MoveSecretsRequest(connector="c", config={**GOOD, "password": CANARY})
    would = pb.MoveSecretsRequest(connector="c", config=request.config, dry_run=True)
    told = dict((await stub.MoveSecrets(would)).config)
    assert secrets.page("", 10) == []
    config = dict((await stub.MoveSecrets(request)).config)
    assert dict((await stub.MoveSecrets(request)).config) == config == told
    (stored,) = secrets.page("", 10)
    assert config == {**GOOD, "password": f"${{keystore:{stored.name}}}"}
    assert OLD.open(stored.name, stored.sealed) == CANARY
    assert dict((await service.create("c", config)).config) == config
    answer = await service.stub.ListRevisions(config_pb.ListRevisionsRequest(name="c"))
    assert CANARY not in dump(engine) + repr((config, answer))


async def test_where_nobody_can_tell_the_secrets_nothing_is_moved(
    stack: AsyncExitStack, secrets: SecretStore, store: ConfigStore, service: Running
) -> None:
    stub = await keystore(stack, secrets, store)
    service.executor.fails_with = Unavailable("AWAY", "away")
    for name, config in (
        ("c", {**GOOD, "password": CANARY}),
        ("c", {"connector.class": "other", "password": CANARY}),
        ("a/b", {**GOOD, "password": CANARY}),
    ):
        assert (await stub.MoveSecrets(pb.MoveSecretsRequest(connector=name, config=config))).config == config
    assert secrets.page("", 10) == []


def test_another_key_seals_everything_anew_and_the_old_one_can_go(secrets: SecretStore) -> None:
    names = [f"name-{number:04}" for number in range(1_001)]
    secrets.put({name: OLD.seal(name, name) for name in names})
    secrets.put({"name-0000": NEW.seal("name-0000", "new"), "alien": Keys([b"x" * 32]).seal("alien", "v")})
    seal_anew(secrets, NEW)
    only_new = Keys([b"n" * 32])
    assert only_new.open("name-0000", secrets.get("name-0000").sealed) == "new"
    assert all(only_new.open(name, secrets.get(name).sealed) == name for name in names[1:5] + names[-3:])
    with pytest.raises(CannotOpen):
        NEW.open("alien", secrets.get("alien").sealed)


def test_a_secret_that_was_set_meanwhile_is_not_sealed_over(secrets: SecretStore) -> None:
    secrets.put({"a": "1"})
    secrets.replace("a", "0", "2")
    assert secrets.get("a").sealed == "1"
    secrets.replace("a", "1", "2")
    assert secrets.get("a").sealed == "2"
    secrets.add({"a": "3", "b": "4"})
    assert (secrets.get("a").sealed, secrets.get("b").sealed) == ("2", "4")
    secrets.delete("a")
    with pytest.raises(NotFound):
        secrets.get("a")


async def test_a_literal_of_a_configuration_of_rocketmq_connect_is_moved_under_the_name_of_our_option(
    stack: AsyncExitStack, secrets: SecretStore, store: ConfigStore, service: Running
) -> None:
    plugin = connector_pb2.Plugin(name="redis_replication_source", type=connector_pb2.PLUGIN_TYPE_SOURCE)
    await service.report("worker-1", service.address, plugin)
    stub = await keystore(stack, secrets, store)
    theirs = {
        "connector.class": "org.apache.rocketmq.connect.redis.connector.RedisSourceConnector",
        "redisAddr": "cache",
        "redisPassword": CANARY,
    }
    answer = await stub.MoveSecrets(pb.MoveSecretsRequest(connector="c", config=theirs))
    config = dict(answer.config)
    (stored,) = secrets.page("", 10)
    assert (answer.warnings[0].key, CANARY in repr(answer.warnings)) == ("connector.class", False)
    assert (config["connector.class"], config["password"]) == ("redis_replication_source", f"${{keystore:{stored.name}}}")
    assert OLD.open(stored.name, stored.sealed) == CANARY
    refused = {**theirs, "offset": "12"}
    assert dict((await stub.MoveSecrets(pb.MoveSecretsRequest(connector="c", config=refused))).config) == refused
