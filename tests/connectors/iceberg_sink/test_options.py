from pathlib import Path

import pytest

from connectors import iceberg_sink
from connectors.iceberg_sink import IcebergSink
from connectors.lakes import catalogue_options
from rocketconnect_sdk.errors import ConfigError
from rocketconnect_sdk.options import Kind, Option, parse

TOPICS = Option("topics", "As every sink has it.", Kind.LIST)


def problems(**options: str) -> list[tuple[str, str]]:
    given = {"table": "db.rows", **{key.replace("_", "."): value for key, value in options.items()}}
    config = parse(IcebergSink.options, given)
    return [(problem.key, problem.reason) for problem in IcebergSink().check(config)]


def test_a_directory_of_other_files_is_no_place_for_a_table(tmp_path: Path) -> None:
    assert problems(warehouse=str(tmp_path)) == []
    table = tmp_path / "db" / "rows"
    (table / "metadata").mkdir(parents=True)
    assert problems(warehouse=str(tmp_path)) == []
    (table / "a.csv").write_text("a\n")
    assert problems(warehouse=str(tmp_path)) == [
        ("table", f"is a directory that has files in it and is no Iceberg table: {table}"),
    ]
    (table / "metadata" / "v1.metadata.json").write_text("{}\n")
    assert problems(warehouse=str(tmp_path)) == []
    assert problems(warehouse=str(table / "a.csv")) == [("warehouse", "is a file")]
    assert problems(warehouse=str(table), table="metadata.v1") == []
    assert problems(warehouse=str(tmp_path / "db"), table="rows.metadata") == [
        ("table", f"is a directory that has files in it and is no Iceberg table: {table / 'metadata'}"),
    ]


@pytest.mark.parametrize("path", ["s3://bucket/lake", "file:///data/lake"])
def test_an_address_is_refused(path: str) -> None:
    assert problems(warehouse=path) == [
        ("warehouse", "is an address, and only tables in directories of this machine can be written")
    ]


@pytest.mark.parametrize("name", ["rows", "db.", ".rows", "db..rows", "db.ro/ws", "db.ro ws", "../x.rows"])
def test_what_is_no_name_of_a_table_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="is not the name of a table with its namespace"):
        problems(warehouse=str(tmp_path), table=name)


def test_partitions_are_of_columns(tmp_path: Path) -> None:
    given = {"warehouse": str(tmp_path), "columns": "id:int64,at:timestamp"}
    assert problems(**given, partition_by="days(at), bucket(4, id)") == []
    assert problems(**given, partition_by="days(at), hour") == [("partition.by", "is none of the columns")]
    with pytest.raises(ConfigError, match=r"weeks\(at\) is none of columns"):
        problems(**given, partition_by="weeks(at)")


def test_columns_are_all_there_are(tmp_path: Path) -> None:
    given = {"warehouse": str(tmp_path), "columns": "id:int64", "schema_evolution": "evolve"}
    assert problems(**given) == [("schema.evolution", "means nothing here: the option columns says all columns that there are")]


def test_a_catalogue_in_a_database_needs_one_and_one_in_a_directory_has_none(tmp_path: Path) -> None:
    given = {"warehouse": str(tmp_path)}
    assert problems(**given, catalog="jdbc") == [
        ("catalog.url", "is missing, and catalog=jdbc needs the database of the catalogue")
    ]
    url = "postgresql://127.0.0.1:5432/lake"
    assert problems(**given, catalog="jdbc", catalog_url=url, catalog_user="u", catalog_password="${env:P}") == []
    reason = "means nothing with catalog=hadoop, which is in the warehouse"
    assert problems(**given, catalog_url=url, catalog_user="u") == [("catalog.url", reason), ("catalog.user", reason)]
    for wrong, why in (
        ("mysql://127.0.0.1/lake", "names no PostgreSQL"),
        (f"{url}?loggerFile=/etc/passwd", "has parameters behind a \\?"),
        ("postgresql://u:p@h/lake", "has a user or a password in it"),
    ):
        with pytest.raises(ConfigError, match=why):
            problems(**given, catalog="jdbc", catalog_url=wrong)


def test_a_catalogue_with_a_server_of_its_own_says_where_the_tables_are(tmp_path: Path) -> None:
    url = "https://127.0.0.1:9/api/catalog"
    alone = "means nothing with catalog="
    assert problems(catalog="rest") == [
        ("catalog.url", "is missing, and catalog=rest needs the address of the catalogue"),
    ]
    assert problems() == [("warehouse", "is missing, and catalog=hadoop needs the directory of the tables")]
    assert problems(warehouse=str(tmp_path), catalog="rest", catalog_url="postgresql://127.0.0.1/lake") == [
        ("catalog.url", "is no address of a server that speaks HTTP"),
        ("warehouse", f"{alone}rest, where the catalogue says in which directory a table is"),
    ]
    assert problems(catalog="rest", catalog_url=url, catalog_user="u", catalog_token="${env:T}", catalog_scope="s") == [
        ("catalog.password", "is missing beside catalog.user: a client of OAuth2 has both"),
        ("catalog.user", "means nothing beside catalog.token, which is a token already"),
        ("catalog.scope", "means nothing beside catalog.token, which is a token already"),
    ]
    assert problems(catalog="rest", catalog_url=url, catalog_oauth2_url="https://id/tokens") == [
        ("catalog.oauth2.url", "means nothing without catalog.user: no token is asked for")
    ]
    assert problems(warehouse=str(tmp_path), catalog_warehouse="w", catalog_token="${env:T}") == [
        ("catalog.warehouse", f"{alone}hadoop"),
        ("catalog.token", f"{alone}hadoop"),
    ]
    assert problems(warehouse=str(tmp_path), catalog="jdbc", catalog_url=url) == [("catalog.url", "names no PostgreSQL")]
    with pytest.raises(ConfigError, match="has a user or a password in it"):
        problems(catalog="rest", catalog_url="https://u:p@127.0.0.1/")


def test_two_connectors_with_one_topic_have_one_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    options = [{"warehouse": str(path), "table": "db.rows"} for path in (tmp_path, tmp_path / "link")]
    configs = [parse((*IcebergSink.options, TOPICS), {**each, "topics": "orders"}) for each in options]
    one, other = ([target.name for target in IcebergSink().targets(config)] for config in configs)
    assert one == other == [f"topic orders in file://{tmp_path}/db/rows"]


def test_a_table_of_a_server_is_one_target(tmp_path: Path) -> None:
    given = {"catalog": "rest", "catalog.url": "https://h/c", "catalog.warehouse": "w", "table": "db.rows", "topics": "orders"}
    configs = [parse((*IcebergSink.options, TOPICS), {**given, "catalog.url": url}) for url in ("https://h/c", "https://h/c/")]
    one, other = ([target.name for target in IcebergSink().targets(config)] for config in configs)
    assert one == other == ["topic orders in https://h/c w db.rows"]


def test_a_table_whose_files_are_in_a_store_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"metadata-location": "s3://b/m.json", "metadata": {"location": "s3://bucket/db/rows"}}
    for module in (catalogue_options, iceberg_sink):
        monkeypatch.setattr(module, "rest_table", lambda _: told)
    assert problems(catalog="rest", catalog_url="https://127.0.0.1:9") == [
        ("table", "is in s3://bucket/db/rows, and only tables in directories of this machine are read and written")
    ]
