"""What is told of a configuration for Google and Azure before it runs, and who we are there."""

import base64
from collections.abc import Mapping

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from connectors.object_store_sink import ObjectStoreSink
from connectors.objects.options import login_of
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.permissions.hosts import CONNECTOR_HOSTS
from tests.connectors.object_store_sink.prefix import lines_of, row
from tests.connectors.object_store_sink.run import opened
from tests.connectors.stores import Server, known, made_bucket
from tests.free_ports import choose
from tests.servers.objects import azure, google
from tests.servers.objects.azure import Azure
from tests.servers.objects.google import Google

GOOGLE = {"url": "gs://orders", "service.account.key": "${env:GOOGLE_KEY}"}
AZURE = {"url": "az://orders", "account.name": "shop", "account.key": "${env:AZURE_KEY}"}
SAS = {"sas.token": "${env:AZURE_SAS}"}


@pytest.fixture(params=["azure_server", "google_server"])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


def look(options: Mapping[str, str], **secrets: str) -> list[Problem]:
    """All that check() finds, with the secrets as a task has them."""
    return list(ObjectStoreSink().check(known(parse(ObjectStoreSink.options, options), **secrets)))


def told(options: Mapping[str, str], **secrets: str) -> list[tuple[str, bool]]:
    return [(each.key, each.is_warning) for each in look(options, **secrets)]


def signed(server: Azure, bucket: str) -> dict[str, str]:
    """Options with a shared access signature in the place of a key."""
    return {"endpoint": server.url, "account.name": azure.ACCOUNT, "url": f"az://{bucket}/data"} | SAS


def test_what_works_has_no_problem_and_nothing_is_written(server: Server) -> None:
    bucket = made_bucket(server)
    assert look(server.options() | {"url": f"{server.place(bucket)}/data"}) == []
    assert server.objects(bucket) == {}


def test_a_bucket_that_is_not_there_is_told(server: Server) -> None:
    place = f"{server.place('nowhere')}/data"
    (only,) = look(server.options() | {"url": place})
    what = "container" if isinstance(server, Azure) else "bucket"
    assert (only.key, only.value) == ("url", place)
    assert f"has no such {what} (404 " in only.reason
    assert only.fix == f"Make the {what}, or name another one in url."
    with pytest.raises(PermanentError, match=f"has no such {what}"):
        opened(server.options() | {"url": place}).start()


def test_the_key_of_another_account_is_told_without_it(google_server: Google) -> None:
    other = google.account(generate_private_key(65537, 2048))
    (only,) = look(google_server.options() | {"url": f"gs://{made_bucket(google_server)}"}, GOOGLE_KEY=other)
    assert (only.key, only.value, only.is_warning) == ("service.account.key", "", False)
    assert "does not know these keys (401 " in only.reason
    assert "PRIVATE KEY" not in str(only)


def test_a_key_that_is_none_of_the_storage_account_is_told_without_it(azure_server: Azure) -> None:
    other = base64.b64encode(b"another key").decode()
    (only,) = look(azure_server.options() | {"url": f"az://{made_bucket(azure_server)}"}, AZURE_KEY=other)
    assert (only.key, only.value, only.is_warning) == ("account.key", "", False)
    assert "does not allow it (403 " in only.reason
    assert "account.key is a key of the account" in only.fix
    assert other not in str(only)


def test_a_signature_that_may_not_write_is_told(azure_server: Azure) -> None:
    bucket = made_bucket(azure_server)
    (only,) = look(signed(azure_server, bucket), AZURE_SAS=azure.signature("rl"))
    assert (only.key, only.is_warning) == ("sas.token", False)
    assert "cannot write" in only.reason
    assert "sig=" not in str(only)


@pytest.mark.parametrize("begin", ["", "?"])
def test_a_signature_is_enough_to_write_and_to_remove(azure_server: Azure, begin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = made_bucket(azure_server)
    options = signed(azure_server, bucket) | {"format": "jsonlines"}
    assert look(options, AZURE_SAS=f"{begin}{azure.signature()}") == []
    run = opened(options).start()
    run.task.abort([run.stage(run.batch(5))])
    run.write(10)
    left = [name for name in azure_server.objects(bucket) if "/staged/" in name]
    assert (lines_of(lambda: azure_server.objects(bucket)), left) == ([row(0, offset) for offset in range(10)], [])
    run.task._store.discard(["nothing of this name"])
    monkeypatch.setattr(azure, "KEY", base64.b64encode(b"another key").decode())
    with pytest.raises(PermanentError, match="does not allow it"):
        opened(options).task._store.discard(["nothing of this name"])


def test_a_server_that_is_away_is_a_warning() -> None:
    for options in (GOOGLE, AZURE):
        (only,) = look(options | {"endpoint": f"http://127.0.0.1:{choose()}"})
        assert (only.key, only.is_warning) == ("endpoint", True)


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({"url": "gs://orders"}, ["service.account.key"]),
        ({"url": "az://orders"}, ["account.name", "account.key"]),
        (AZURE | SAS, ["sas.token"]),
        (GOOGLE | {"region": "eu", "account.name": "shop"}, ["region", "account.name"]),
        (AZURE | {"access.key.id": "a", "service.account.key": "${env:GOOGLE_KEY}"}, ["access.key.id", "service.account.key"]),
        ({"url": "file:///tmp", "account.name": "shop", "sas.token": "${env:AZURE_SAS}"}, ["account.name", "sas.token"]),
        (GOOGLE | {"endpoint": "http://127.0.0.1:1/path"}, ["endpoint"]),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_what_is_missing_or_too_much_is_told_by_its_option(options: dict[str, str], keys: list[str]) -> None:
    # Nobody is asked for what is to be found without.
    found = told({"endpoint": f"http://127.0.0.1:{choose()}"} | options if not options["url"].startswith("file:") else options)
    assert [key for key, is_warning in found if not is_warning] == keys


@pytest.mark.parametrize(
    ("options", "secret", "reason"),
    [
        (GOOGLE, {"GOOGLE_KEY": "no JSON"}, "is no key of a service account"),
        (GOOGLE, {"GOOGLE_KEY": '{"client_email": "a@b"}'}, "'private_key' is missing"),
        (GOOGLE, {"GOOGLE_KEY": '{"client_email": "a@b", "private_key": "sesame"}'}, "is no key of a service account"),
        (AZURE, {"AZURE_KEY": "sesame!"}, "is no key of a storage account"),
        ({"url": "az://orders", "account.name": "shop"} | SAS, {"AZURE_SAS": "sesame"}, "is no shared access signature"),
    ],
    ids=["no JSON", "a part is missing", "no key in it", "no Base64", "no signature"],
)
def test_a_secret_that_cannot_be_one_is_told_without_it(
    options: dict[str, str], secret: dict[str, str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (only,) = look(options, **secret)
    assert reason in only.reason
    assert "sesame" not in str(only)
    monkeypatch.setattr(google, "account", lambda: secret.get("GOOGLE_KEY"))
    monkeypatch.setattr(azure, "KEY", secret.get("AZURE_KEY"))
    monkeypatch.setattr(azure, "signature", lambda: secret.get("AZURE_SAS"))
    with pytest.raises(PermanentError, match=only.key) as error:
        opened(options)
    assert "sesame" not in str(error.value)


def test_nothing_of_the_executor_s_environment_reaches_a_store(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = made_bucket(server)
    mine = {"GOOGLE_BEARER_TOKEN": "executor", "GOOGLE_BASE_URL": "http://127.0.0.1:1", "GOOGLE_SKIP_SIGNATURE": "true"}
    mine |= {"GOOGLE_SERVICE_ACCOUNT_KEY": google.account(generate_private_key(65537, 2048)), "GOOGLE_BUCKET": "executor"}
    mine |= {"GOOGLE_APPLICATION_CREDENTIALS": "/not/there", "AZURE_STORAGE_ACCOUNT_NAME": "executor"}
    mine |= {"AZURE_STORAGE_ACCOUNT_KEY": base64.b64encode(b"executor").decode(), "AZURE_STORAGE_USE_EMULATOR": "true"}
    mine |= {"AZURE_STORAGE_SAS_TOKEN": "sv=1&sig=2", "AZURE_ENDPOINT": "http://127.0.0.1:1", "AZURE_SKIP_SIGNATURE": "true"}
    mine |= {"AZURE_CONTAINER_NAME": "executor", "AZURE_CLIENT_ID": "executor", "AZURE_STORAGE_TOKEN": "executor"}
    for name, value in mine.items():
        monkeypatch.setenv(name, value)
    assert look(server.options() | {"url": f"{server.place(bucket)}/data"}) == []


@pytest.mark.parametrize(
    ("options", "host"),
    [
        (GOOGLE, "storage.googleapis.com:443"),
        (AZURE, "shop.blob.core.windows.net:443"),
        (GOOGLE | {"endpoint": "http://a.b"}, "a.b:80"),
    ],
    ids=["Google", "Azure", "another"],
)
def test_a_host_that_connectors_may_not_speak_to_is_told(
    options: dict[str, str], host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CONNECTOR_HOSTS, "other.example")
    found = look(options) if "endpoint" not in options else list(_found(options))
    assert [(each.key, f"{host} is no host" in each.reason) for each in found] == [("endpoint", True)]


def _found(options: Mapping[str, str]) -> list[Problem]:
    from rocketconnect_sdk.options import read

    return read(ObjectStoreSink.options, options)[1]


def test_a_container_is_one_of_its_account() -> None:
    def name(**options: str) -> str:
        given = {key.replace("_", "."): value for key, value in options.items()}
        (target,) = ObjectStoreSink().targets(parse(ObjectStoreSink.options, {"url": "az://orders/data"} | given))
        return target.name

    assert name(account_name="shop") == name(account_name="shop", endpoint="https://shop.blob.core.windows.net/")
    assert (
        len({name(account_name="shop"), name(account_name="bank"), name(account_name="shop", endpoint="https://shop.other")}) == 3
    )


def test_keys_are_in_no_text_of_a_login() -> None:
    for options in (GOOGLE, AZURE, {"url": "az://orders", "account.name": "shop"} | SAS):
        login = str(login_of(known(parse(ObjectStoreSink.options, options))))
        assert not any(secret in login for secret in ("PRIVATE", azure.KEY, "sig="))


@pytest.mark.parametrize("name", ["Shop", "a", "shop.evil.example/", "shop-1"])
def test_what_is_no_name_of_an_account_is_told(name: str) -> None:
    assert [each.key for each in _found({"url": "az://orders", "account.name": name})] == ["account.name"]
