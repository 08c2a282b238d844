"""Secrets in the keystore: opened where they are needed, and nowhere else."""

import traceback
from pathlib import Path

import pytest

from rocketconnect_kit.sealing import Keys, new_key
from rocketconnect_sdk.errors import SystemAway
from services.executor.secrets.providers import Unresolved
from services.executor.secrets.providers.keystore import Keystore
from tests.services.executor.secrets.providers.sealed import serving, told


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "keys"
    made.write_text(new_key())
    made.chmod(0o600)
    return made


def refusal(keystore: Keystore, name: str) -> str:
    with pytest.raises(Unresolved) as raised:
        keystore.look_up(name)
    assert "the-value" not in "".join(traceback.format_exception(raised.value))
    return f"{raised.value.reason}. {raised.value.fix}"


def test_a_secret_that_is_sealed_for_another_name_or_with_another_key_does_not_open(file: Path) -> None:
    keys = Keys.read(file)
    with serving({"a": keys.seal("a", "the-value"), "b": keys.seal("a", "the-value"), "c": "v1:0:x"}) as (address, _):
        keystore = Keystore(told(address, file))
        assert keystore.look_up("a") == "the-value"
        assert "it was sealed for another name" in refusal(keystore, "b")
        assert "with a key that is not in the file" in refusal(keystore, "c")


def test_only_the_names_that_the_operator_allows_are_asked_for(file: Path) -> None:
    keys = Keys.read(file)
    with serving({name: keys.seal(name, "the-value") for name in ("orders.password", "other")}) as (address, asked):
        keystore = Keystore(told(address, file, "orders.*, more"))
        assert keystore.look_up("orders.password") == "the-value"
        assert "lets no connector read. Add other to the executor's --keystore-names" in refusal(keystore, "other")
        assert asked == ["orders.password"]


def test_what_is_not_there_says_how_to_store_it(file: Path) -> None:
    with serving({}) as (address, _):
        assert "Store it: rocketconnect secret set db." in refusal(Keystore(told(address, file)), "db")


def test_a_file_of_keys_that_can_not_be_used_says_why(file: Path) -> None:
    with serving({"a": Keys.read(file).seal("a", "the-value")}) as (address, _):
        file.chmod(0o644)
        assert "chmod 600" in refusal(Keystore(told(address, file)), "a")
        file.unlink()
        assert "cannot be read: No such file" in refusal(Keystore(told(address, file)), "a")


def test_a_config_service_that_is_away_is_waited_for(file: Path) -> None:
    with serving({}) as (address, _):
        pass
    with pytest.raises(SystemAway, match="the config service does not give the secret 'a'"):
        Keystore(told(address, file)).look_up("a")
