"""A table in a REST catalogue, which Iceberg's own server keeps."""

import re

import pyarrow as pa
import pytest

from connectors.iceberg_sink import IcebergSink
from connectors.iceberg_source import IcebergSource
from rocketconnect_sdk.conformance import SourceCase
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.schema import Type
from tests.connectors.iceberg_source.tables import TYPES, numbered
from tests.connectors.lakes.reader import Reader
from tests.servers.iceberg_rest import GUEST, TOKEN, RestServer, reference

pytestmark = pytest.mark.spark


@pytest.fixture
def server(rest_server: RestServer) -> RestServer:
    """With the table shop.north.orders, of two rows."""
    with rest_server.client() as catalog:
        for name in ("shop", "shop.north"):
            catalog.create_namespace_if_not_exists(name)
        if not catalog.table_exists("shop.north.orders"):
            catalog.create_table("shop.north.orders", TYPES).append(pa.Table.from_pylist(numbered(1, 2), TYPES))
    return rest_server


def resolved(config: Config) -> Config:
    """As the executor has it."""
    return config.replaced(lambda text: re.sub(r"\$\{env:(\w+)}", r"\1", text))


def problems(connector: IcebergSink | IcebergSource, server: RestServer, **options: str) -> list[tuple[str, str, bool]]:
    given = {**server.options, "table": "shop.north.orders", **{key.replace("_", "."): value for key, value in options.items()}}
    config = resolved(parse(connector.options, {key: value for key, value in given.items() if value}))
    return [(problem.key, problem.reason, problem.is_warning) for problem in connector.check(config)]


def test_rows_that_others_append_are_read(server: RestServer) -> None:
    case = SourceCase(IcebergSource(), {**server.options, "table": "shop.north.orders"})
    reader = Reader(case)
    assert reader.run() == numbered(1, 2)
    with server.client() as catalog:
        catalog.load_table("shop.north.orders").append(pa.Table.from_pylist(numbered(3), TYPES))
    assert reader.run() == numbered(3)


def test_a_token_that_has_ended_is_asked_for_anew(server: RestServer) -> None:
    config = resolved(parse(IcebergSource.options, {**server.options, "table": "shop.north.orders"}))
    log = IcebergSource().log(config)
    newest = log.newest()
    server.end_tokens()
    assert log.newest() == newest


def test_a_table_that_is_not_there_is_told(server: RestServer) -> None:
    with pytest.raises(SystemAway, match=r"the catalogue has no table shop\.other"):
        Reader(SourceCase(IcebergSource(), {**server.options, "table": "shop.other"}))


@pytest.mark.parametrize("connector", [IcebergSink(), IcebergSource()])
def test_what_a_catalogue_says_against_it_is_told_with_the_configuration(
    server: RestServer, connector: IcebergSink | IcebergSource
) -> None:
    assert problems(connector, server) == []
    assert problems(connector, server, catalog_user="", catalog_password="", catalog_token=reference(TOKEN)) == []
    nobody = {"catalog_user": "", "catalog_password": ""}
    for options, key, told in (
        ({"catalog_password": reference("WRONG")}, "catalog.user", "is given no token: invalid_client: who is that"),
        (nobody, "catalog.token", "is let in by nobody: nobody is let in without a token"),
        ({**nobody, "catalog_token": reference(GUEST)}, "catalog.token", "is not allowed to do that: guests see nothing"),
        ({"catalog_warehouse": "other"}, "catalog.warehouse", "is no warehouse of the catalogue: Unable to find warehouse other"),
        ({"catalog_url": f"{server.url}/x", "catalog_oauth2_url": f"{server.url}/v1/oauth/tokens"}, "catalog.url", "is no Iceberg"),
    ):
        (found,) = [each for each in problems(connector, server, **options) if each[0] != "table"]
        assert found[0] == key
        assert found[1].startswith(told)
        assert not found[2]
    found, *_ = problems(connector, server, catalog_url="http://127.0.0.1:9/catalog")
    assert found[0] == "catalog.url"
    assert "http://127.0.0.1:9/catalog/v1/oauth/tokens does not answer: [Errno 111]" in found[1]
    assert found[2]


def test_a_sink_knows_the_columns_of_the_table(server: RestServer) -> None:
    def config(table: str) -> Config:
        return resolved(parse(IcebergSink.options, {**server.options, "table": table}))

    columns = IcebergSink().table_columns(config("shop.north.orders"))
    assert columns is not None
    assert [(field.name, field.schema.type) for field in columns.fields] == [("id", Type.INT64), ("text", Type.STRING)]
    assert IcebergSink().table_columns(config("shop.other")) is None
    assert [IcebergSink().has_table(config(name)) for name in ("shop.north.orders", "shop.other")] == [True, False]
    wrong = problems(IcebergSink(), server, columns="id:int64,more:string")
    assert [key for key, *_ in wrong] == ["columns"]


@pytest.mark.parametrize("connector", [IcebergSink(), IcebergSource()])
def test_a_secret_that_is_still_a_reference_is_not_tried(server: RestServer, connector: IcebergSink | IcebergSource) -> None:
    given = {**server.options, "catalog.password": reference("WRONG"), "table": "shop.north.orders"}
    assert list(connector.check(parse(connector.options, given))) == []
