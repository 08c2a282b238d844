"""What is wrong with a configuration is told before it is stored, all at once."""

import pytest

from connectors.postgres_cdc_source import PostgresCdcSource
from rocketconnect_sdk.errors import ConfigError
from tests.connectors.postgres_cdc_source.capturing import Shop, parsed


def told(shop: Shop, **more: str) -> dict[str, str]:
    return {problem.key: str(problem) for problem in PostgresCdcSource().check(parsed(shop.config(**more)))}


def test_nothing_is_wrong_with_what_is_right(shop: Shop) -> None:
    shop.fill(1)
    assert told(shop) == {}


def test_filters_that_match_nothing_are_told(shop: Shop) -> None:
    shop.fill(1)
    found = told(shop, table_include="nowhere")
    assert found.keys() == {"table.include"}
    assert "no table of the database" in found["table.include"]


def test_a_role_that_lacks_privileges_is_told_all_of_them_with_what_gives_them(shop: Shop) -> None:
    shop.fill(1)
    role = f"weak_{shop.name}"
    shop.run(f"CREATE ROLE {role} LOGIN PASSWORD 'the-secret'", f"GRANT USAGE ON SCHEMA {shop.name} TO {role}")
    try:
        found = told(shop, username=role)
        assert f'ALTER ROLE "{role}" REPLICATION' in found["username"]
        assert "GRANT CREATE ON DATABASE" in found["publication.name"] or "only the owners" in found["publication.name"]
    finally:
        shop.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_table_without_a_key_is_told_since_publishing_it_would_stop_its_updates(shop: Shop) -> None:
    shop.run(f"CREATE TABLE {shop.name}.keyless (a int)")
    assert "REPLICA IDENTITY FULL" in told(shop)["table.include"]


def test_a_table_whose_records_have_no_keys_is_a_warning_and_refuses_nothing(shop: Shop) -> None:
    shop.run(f"CREATE TABLE {shop.name}.keyless (a int)", f"ALTER TABLE {shop.name}.keyless REPLICA IDENTITY FULL")
    (warning,) = PostgresCdcSource().check(parsed(shop.config()))
    assert warning.is_warning
    assert (warning.key, warning.value) == ("table.include", f"{shop.name}.keyless")
    assert "their records have no keys" in warning.reason
    assert told(shop, message_key_columns=rf"{shop.name}\.keyless:a") == {}


def test_a_server_that_is_not_there_and_a_database_that_is_not_there_are_told(shop: Shop) -> None:
    assert "does not answer" in told(shop, port="1")["hostname"]
    assert "does not exist" in told(shop, database="nothing")["username"]


def test_options_that_cannot_be_are_told_at_once(shop: Shop) -> None:
    with pytest.raises(ConfigError) as error:
        parsed(shop.config(slot_name="Not A Slot", table_include="(", snapshot_mode="sometimes"))
    assert {problem.key for problem in error.value.problems} == {"slot.name", "table.include", "snapshot.mode"}
