"""Stores in files: saved while they are written, put back whole or not at all."""

import contextlib
import json
import shutil
import sqlite3
import stat
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rocketconnect_cli.api import ApiError
from rocketconnect_cli.backups import archive, restoring, schema, sqlite
from rocketconnect_cli.embedded.data_directory import DataDirectory
from rocketconnect_kit.store import database
from tests.examples import some
from tests.rocketconnect_cli.backups.conftest import SEALED, Change, rows, run, stored


@pytest.fixture(scope="session")
def saved(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of the filled stores."""
    file = tmp_path_factory.mktemp("saved") / "saved.zip"
    assert run("backup", file, "--data", filled).exit_code == 0
    return file


def names(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(each.name for each in folder.iterdir())


def manifest(file: Path) -> dict[str, Any]:
    with zipfile.ZipFile(file) as source:
        return dict(json.loads(source.read("manifest.json")))


def rewritten(file: Path, to: Path, change: Any) -> Path:
    """A copy of a backup whose manifest was changed."""
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(to, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "manifest.json":
                form = json.loads(content)
                change(form)
                content = json.dumps(form).encode()
            target.writestr(name, content)
    return to


def test_what_was_saved_is_put_into_an_empty_place_and_over_what_came_since(
    filled: Path, data: Path, change: Change, tmp_path: Path
) -> None:
    before, file, empty = stored(data), tmp_path / "b.zip", tmp_path / "new" / "place"
    assert run("backup", file, "--data", data).exit_code == 0
    change("config", "UPDATE config_connectors SET revision = 9")
    change("state", "UPDATE state_leader SET term = 70")
    change("position", "DELETE FROM position_positions")
    for place, words in ((empty, ()), (data, ("--yes",))):
        result = run("restore", file, "--data", place, *words)
        assert result.exit_code == 0, result.output
    # Who led is not put back, and a term that somebody may still believe in does not come again.
    assert [stored(place)["state"].pop("state_leader") for place in (empty, data)] == [[("", 8, 0.0)], [("", 8, 0.0)]]
    after = [stored(empty), stored(data)]
    for stores in (*after, before):
        stores["state"].pop("state_leader")
    terms = [stores["cluster"].pop("cluster_leader", None) for stores in (*after, before)]
    assert all(terms)
    assert after == [before, before]
    assert made(empty) == made(data) == made(filled)
    assert stat.S_IMODE(empty.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in empty.iterdir()} == {0o600}


def test_the_file_is_its_owners_alone_and_holds_sealed_secrets_only(saved: Path) -> None:
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert names(saved.parent) == [saved.name]
    with zipfile.ZipFile(saved) as source:
        assert SEALED in source.read("config/config_secrets.jsonl").decode()


def test_the_manifest_tells_what_is_in_it(saved: Path) -> None:
    form = manifest(saved)
    assert (form["format"], sorted(form["stores"])) == (1, ["cluster", "config", "position", "state"])
    assert form["stores"]["config"]["revision"] == schema.revisions("config")[-1]
    assert {store["point"] for store in form["stores"].values()} == {0}
    assert form["stores"]["position"]["tables"]["position_positions"]["rows"] == 5


def test_all_files_are_read_at_one_point_while_they_are_written(data: Path, tmp_path: Path) -> None:
    """A writer raises one number in every store, one behind the other: in a backup they are one apart at most."""
    done = threading.Event()
    engines = {service: database.engine(f"sqlite:///{data / service}.db") for service in ("position", "config", "state")}

    def write() -> None:
        number = 0
        while not done.is_set():
            number += 1
            for service, statement in (
                ("position", "UPDATE position_tasks SET generation = {}"),
                ("config", "UPDATE config_secrets SET update_time = {}"),
                ("state", "UPDATE state_logs SET sequence = {}"),
            ):
                with database.writing(engines[service]) as connection:
                    connection.exec_driver_sql(statement.format(number))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(3):
            file = tmp_path / f"{number}.zip"
            assert run("backup", file, "--data", data).exit_code == 0
            with archive.reading(file) as reader:
                (task,), (secret,) = reader.rows("position", "position_tasks"), reader.rows("config", "config_secrets")
                (log,) = reader.rows("state", "state_logs")
            seen = task["generation"], secret["update_time"], log["sequence"]
            assert 0 <= seen[0] - seen[2] <= 1, seen
            assert list(seen) == sorted(seen, reverse=True)
    finally:
        done.set()
        writer.join()
        for engine in engines.values():
            engine.dispose()


def test_a_file_that_is_there_is_kept_unless_it_is_said(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.zip"
    file.write_text("mine")
    refused = run("backup", file, "--data", data)
    assert (refused.exit_code, file.read_text()) == (4, "mine")
    assert "--overwrite" in refused.output
    assert run("backup", file, "--data", data, "--overwrite").exit_code == 0
    assert manifest(file)
    assert names(tmp_path) == ["b.zip", "data"]


def test_stores_that_are_there_are_replaced_only_when_it_is_said(data: Path, saved: Path, change: Change) -> None:
    change("position", "DELETE FROM position_positions")
    before = stored(data)
    for words, code in (((), 2), (("--dry-run",), 0)):
        result = run("restore", saved, "--data", data, *words)
        assert (result.exit_code, stored(data)) == (code, before), result.output
        assert "in (source, EXACTLY_ONCE)" in result.output
    assert names(data) == ["cluster.db", "config.db", "position.db", "state.db"]


def test_before_it_is_restored_each_connector_is_told_of(data: Path, saved: Path, change: Change) -> None:
    change("position", "UPDATE position_positions SET \"offset\" = '[100]' WHERE connector_uid = 'uid-print'")
    result = run("restore", saved, "--data", data, "--yes", "-o", "json")
    told = {row["connector"]: row for row in json.loads(result.stdout)["connectors"]}
    assert {name: row["doubles"] for name, row in told.items()} == {"in": True, "out": False, "print": True}
    assert "a.txt [500]" in told["in"]["text"]
    assert "nothing is written twice" in told["out"]["text"]
    assert "goes on at t/b/0 [90], t/b/1 [70]; what it has written since (40 messages) is there twice" in told["print"]["text"]


@pytest.mark.parametrize("who", ["up", "service"])
def test_stores_that_are_in_use_are_not_restored(data: Path, saved: Path, change: Change, who: str) -> None:
    change("position", "DELETE FROM position_positions")
    before = stored(data)
    engine, directory = database.engine(f"sqlite:///{data / 'cluster'}.db"), DataDirectory(data)
    if who == "up":
        directory.acquire()
    else:
        # As a service has it: open, and idle.
        with database.reading(engine) as connection:
            connection.exec_driver_sql("SELECT * FROM cluster_units")
    try:
        result = run("restore", saved, "--data", data, "--yes")
        assert result.exit_code == 4
        assert ("`rocketconnect up` runs" if who == "up" else "Stop all services first") in result.output
    finally:
        directory.release()
        engine.dispose()
    assert stored(data) == before
    assert run("restore", saved, "--data", data, "--yes").exit_code == 0


@pytest.mark.parametrize("broken", [b"", b"PK", b"no backup at all" * 100, None])
def test_what_is_no_backup_is_refused_in_words(data: Path, saved: Path, tmp_path: Path, broken: bytes | None) -> None:
    file, before = tmp_path / "x.zip", stored(data)
    if broken is None:
        with zipfile.ZipFile(file, "w") as target:
            target.writestr("holiday.txt", "sun")
    else:
        file.write_bytes(broken)
    result = run("restore", file, "--data", data, "--yes")
    assert (result.exit_code, stored(data)) == (2, before)
    assert "is no backup of RocketConnect, or it was damaged" in result.output
    assert run("restore", tmp_path / "absent.zip", "--data", data).exit_code == 3


@settings(max_examples=some(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255), cut=st.booleans())
@example(place=0.0, flip=1, cut=False)
@example(place=0.999, flip=255, cut=True)
def test_a_changed_byte_or_a_missing_end_is_noticed_or_changes_nothing(
    saved: Path, tmp_path: Path, place: float, flip: int, cut: bool
) -> None:
    content = bytearray(saved.read_bytes())
    at = int(place * len(content))
    if cut:
        del content[at:]
    else:
        content[at] ^= flip
    file = tmp_path / "changed.zip"
    file.write_bytes(content)
    read = None
    with contextlib.suppress(ApiError), archive.reading(file) as reader:
        reader.check()
        read = content_of(reader)
    with archive.reading(saved) as reader:
        assert read in (None, content_of(reader))


def made(folder: Path) -> list[list[str]]:
    """The statements that made what is in the files of a folder."""
    found = []
    for file in names(folder):
        with contextlib.closing(sqlite3.connect(folder / file)) as connection:
            statements = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()
        found.append([" ".join(sql.split()) for (sql,) in statements])
    return found


def content_of(reader: archive.Reader) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """All rows."""
    return {(s, t): list(reader.rows(s, t)) for s, store in reader.manifest.stores.items() for t in store.tables}


@pytest.mark.parametrize("what", ["another value", "a row less", "a member more", "no number"])
def test_what_somebody_changed_in_a_sound_zip_is_refused(data: Path, saved: Path, tmp_path: Path, what: str) -> None:
    file, before = tmp_path / "x.zip", stored(data)
    with zipfile.ZipFile(saved) as source, zipfile.ZipFile(file, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if what == "another value" and name == "position/position_positions.jsonl":
                content = content.replace(b"[500]", b"[900]")
            if what == "a row less" and name == "position/position_positions.jsonl":
                content = b"".join(content.splitlines(keepends=True)[1:])
            if what == "no number" and name == "manifest.json":
                content = content.replace(b'"rows": 5', b'"rows": "many"')
            target.writestr(name, content)
        if what == "a member more":
            target.writestr("position/other.jsonl", b"[]")
    result = run("restore", file, "--data", data, "--yes")
    assert (result.exit_code, "it was damaged" in result.output, stored(data)) == (2, True, before), result.output


def newer_tables(form: dict[str, Any]) -> None:
    form.update(rocketconnect="9.1.0")
    form["stores"]["config"]["revision"] = "0999"


def newer_form(form: dict[str, Any]) -> None:
    form.update(rocketconnect="9.1.0", format=2)


@pytest.mark.parametrize("newer", [newer_tables, newer_form])
def test_a_backup_of_a_later_version_is_refused_with_that_version(data: Path, saved: Path, tmp_path: Path, newer: Any) -> None:
    before = stored(data)
    result = run("restore", rewritten(saved, tmp_path / "n.zip", newer), "--data", data, "--yes")
    assert (result.exit_code, stored(data)) == (2, before)
    assert "RocketConnect 9.1.0" in result.output
    assert "Nothing was changed" in result.output


def test_a_backup_of_an_older_version_is_restored_and_brought_forward_by_the_service(tmp_path: Path) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    engine = database.engine(f"sqlite:///{old}")
    with database.writing(engine) as connection:
        schema.make(connection, "position", "0002")
        connection.exec_driver_sql("INSERT INTO position_positions VALUES ('u', 'p', '[3]', 1, '{}', 5)")
    engine.dispose()
    assert run("backup", tmp_path / "b.zip", "--only", "position", "--store", f"position=sqlite:///{old}").exit_code == 0
    assert manifest(tmp_path / "b.zip")["stores"]["position"]["revision"] == "0002"
    assert run("restore", tmp_path / "b.zip", "--store", f"position=sqlite:///{new}").exit_code == 0
    engine = database.engine(f"sqlite:///{new}")
    database.migrate(engine, "position")
    engine.dispose()
    assert rows(f"sqlite:///{new}")["position_positions"] == [("u", "p", "[3]", 1, "{}", 5)]
    assert max(rows(f"sqlite:///{new}")["position_schema"])[0] == schema.revisions("position")[-1]


def test_stores_of_a_later_version_are_neither_saved_nor_replaced(data: Path, saved: Path, change: Change, tmp_path: Path) -> None:
    change("position", "INSERT INTO position_schema VALUES ('0999', '9.1.0', '0999')")
    for result in (run("backup", tmp_path / "x.zip", "--data", data), run("restore", saved, "--data", data, "--yes")):
        assert result.exit_code == 2
        assert "revision 0999" in result.output
    assert not (tmp_path / "x.zip").exists()


def test_one_store_is_saved_and_restored_without_the_others(data: Path, saved: Path, change: Change, tmp_path: Path) -> None:
    change("config", "UPDATE config_connectors SET revision = 9")
    change("position", "DELETE FROM position_positions")
    assert run("restore", saved, "--data", data, "--yes", "--only", "position").exit_code == 0
    after = stored(data)
    assert len(after["position"]["position_positions"]) == 5
    assert {row[2] for row in after["config"]["config_connectors"]} == {9}
    assert run("backup", tmp_path / "p.zip", "--data", data, "--only", "position").exit_code == 0
    missing = run("restore", tmp_path / "p.zip", "--data", data, "--yes", "--only", "config")
    assert (missing.exit_code, "no store of that name" in missing.output) == (2, True)


def test_a_store_that_is_missing_is_named_and_not_made(data: Path, tmp_path: Path) -> None:
    (data / "state.db").unlink()
    result = run("backup", tmp_path / "b.zip", "--data", data)
    assert result.exit_code == 3
    assert "no store of state" in result.output
    assert not (data / "state.db").exists()
    assert not (tmp_path / "b.zip").exists()


@pytest.mark.parametrize("step", ["staged", "put"])
def test_who_is_interrupted_leaves_everything_as_it_was(
    data: Path, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = stored(data)
    # The last file is reached behind the others: those must go back, too.
    copied = []

    def copy(connection: Any, source: str, target: str) -> None:
        copied.append(target)
        if len(copied) == 4:
            interrupt()
        original(connection, source, target)

    original = sqlite._copy
    monkeypatch.setattr(*((restoring, "_fill", interrupt) if step == "staged" else (sqlite, "_copy", copy)))
    for place in (data, tmp_path / "empty"):
        copied.clear()
        result = run("restore", saved, "--data", place, "--yes")
        assert result.exit_code != 0
    assert stored(data) == before
    assert not any((tmp_path / "empty").iterdir())
    assert sorted(each.name for each in data.iterdir() if each.suffix == ".db") == names(data)


def test_who_is_interrupted_while_he_saves_leaves_no_file(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(archive.Writer, "table", interrupt)
    assert run("backup", tmp_path / "b.zip", "--data", data).exit_code != 0
    assert names(tmp_path) == ["data"]


def test_a_file_that_is_no_store_is_told_of(data: Path, saved: Path, tmp_path: Path) -> None:
    (data / "state.db").write_text("something else " * 100)
    for result in (run("backup", tmp_path / "b.zip", "--data", data), run("restore", saved, "--data", data, "--yes")):
        assert (result.exit_code, "not a database" in result.output) == (1, True), result.output
    assert not (tmp_path / "b.zip").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--store", "position"), "write SERVICE=URL"),
        (("--store", "orders=sqlite:///x.db"), "write SERVICE=URL"),
        (("--store", "config=mysql://me:canary@host/db"), "'mysql' is not a store"),
        (("--store-url", "://me:canary@host"), "its URL is none"),
        (("--only", "orders"), "position"),
    ],
)
def test_what_is_no_store_is_told_without_its_password(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    result = run("backup", tmp_path / "b.zip", *words)
    assert (result.exit_code, told in result.output, "canary" in result.output) == (2, True, False), result.output


def test_services_that_share_a_file_share_it_afterwards(filled: Path, saved: Path, tmp_path: Path) -> None:
    shutil.copytree(filled, tmp_path / "data")
    url = f"sqlite:///{tmp_path / 'all.db'}"
    assert run("restore", saved, "--store-url", url).exit_code == 0
    assert run("backup", tmp_path / "again.zip", "--store-url", url).exit_code == 0
    with archive.reading(saved) as one, archive.reading(tmp_path / "again.zip") as two:
        for service in ("position", "config"):
            tables = [{name: table.sha256 for name, table in each.manifest.stores[service].tables.items()} for each in (one, two)]
            assert tables[0] == tables[1]
