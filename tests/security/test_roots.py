"""Attacks on files by who may write a configuration, or may write into a folder that connectors use: each gets nothing."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from logging import getLogger
from pathlib import Path
from typing import Any

import pytest
from rocketconnect.executor.v1 import executor_service_pb2 as pb

from connectors.file_source.content import open_content
from connectors.jdbc import Endpoint, dialect_of
from rocketconnect_cli.instance import topology
from rocketconnect_sdk.files import AppendedFile, Owner
from rocketconnect_sdk.permissions import beneath
from rocketconnect_sdk.permissions import roots as roots_module
from rocketconnect_sdk.permissions.roots import OWN_FILES, READ_ROOTS, WRITE_ROOTS, Access, OutsideRoots, Roots, reading, writing
from services.executor.settings import ExecutorSettings

Start = Callable[..., Any]
CANARY = "c4n4ry-of-a-file"
OWNER = Owner("uid", 1, 0, 1)


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder beneath which connectors of this process read and write."""
    folder = tmp_path / "inside"
    folder.mkdir()
    monkeypatch.setenv(READ_ROOTS, str(folder))
    monkeypatch.setenv(WRITE_ROOTS, str(folder))
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file that nobody allowed, and that this user can read and write."""
    path = tmp_path / "outside" / "secret.txt"
    path.parent.mkdir()
    path.write_text(f"{CANARY}\nmore\n")
    return path


@pytest.fixture(params=["openat2", "walk"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the kernel's own check, and where it has none."""
    if request.param == "walk":
        monkeypatch.setattr(beneath, "_openat2", beneath.walk_beneath)


@pytest.mark.usefixtures("way")
def test_what_is_beneath_is_opened_whatever_links_lead_to_it(inside: Path, tmp_path: Path) -> None:
    (inside / "deep").mkdir()
    file = inside / "deep" / "file"
    file.write_text("data")
    (inside / "relative").symlink_to("deep/file")
    (inside / "absolute").symlink_to(file)
    (tmp_path / "from-elsewhere").symlink_to(inside / "deep")
    for path in (
        file,
        inside / "relative",
        inside / "absolute",
        tmp_path / "from-elsewhere" / "file",
        inside / "deep/../deep/file",
    ):
        with os.fdopen(reading().open(path, os.O_RDONLY)) as opened:
            assert opened.read() == "data", path
    with os.fdopen(Roots(Access.READ, ("/",)).open(file, os.O_RDONLY)) as opened:
        assert opened.read() == "data"


@pytest.mark.usefixtures("way")
def test_what_is_not_beneath_is_not_opened_however_it_is_named(inside: Path, outside: Path) -> None:
    (inside / "link").symlink_to(outside)
    (inside / "relative").symlink_to("../outside/secret.txt")
    (inside / "folder").symlink_to(outside.parent)
    for path in (
        outside,
        inside / "link",
        inside / "relative",
        inside / "folder" / "secret.txt",
        f"{inside}/../outside/secret.txt",
        f"/proc/self/root{outside}",
        f"/proc/{os.getpid()}/root{outside}",
        f"{inside}-other",
        "/etc/passwd",
    ):
        assert reading().problem(path), path
        with pytest.raises(OutsideRoots):
            reading().open(path, os.O_RDONLY)


def test_what_the_kernel_tells_of_processes_is_beneath_no_folder() -> None:
    everywhere = Roots(Access.READ, ("/",))
    for path in ("/proc/self/environ", "/proc/self/root/proc/version", "/sys/kernel/uevent_seqnum"):
        with pytest.raises(OutsideRoots):
            everywhere.open(path, os.O_RDONLY)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("swapped", ["file", "folder"])
def test_a_link_that_is_swapped_in_between_check_and_open_leads_nowhere(
    inside: Path, outside: Path, swapped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = inside / "folder"
    folder.mkdir()
    path = folder / outside.name
    path.write_text("harmless")

    def swap_then_open(top: int, inner: str, flags: int, mode: int) -> int:
        path.unlink()
        if swapped == "file":
            path.symlink_to(outside)
        else:
            folder.rmdir()
            folder.symlink_to(outside.parent)
        return beneath.open_beneath(top, inner, flags, mode)

    monkeypatch.setattr(roots_module, "open_beneath", swap_then_open)
    with pytest.raises((OutsideRoots, NotADirectoryError)):
        open_content(path, gzip=False)


@pytest.mark.usefixtures("inside")
def test_a_file_is_read_by_no_source_where_a_link_leads_out(inside: Path, outside: Path) -> None:
    (inside / "a.log").symlink_to(outside)
    with pytest.raises(OutsideRoots):
        open_content(inside / "a.log", gzip=False)


@pytest.mark.parametrize("linked", [".out.rocketconnect", "out"])
def test_a_file_is_written_by_no_sink_where_a_link_leads_out(inside: Path, outside: Path, linked: str) -> None:
    (inside / linked).symlink_to(outside if linked == "out" else outside.parent)
    log = getLogger("test")
    with pytest.raises(OutsideRoots):
        AppendedFile(inside / "out", OWNER, log).start()
    assert outside.read_text() == f"{CANARY}\nmore\n"
    assert [each.name for each in outside.parent.iterdir()] == [outside.name]


def test_a_sink_whose_folder_is_swapped_for_a_link_between_two_batches_writes_nothing_there(inside: Path, outside: Path) -> None:
    folder = inside / "folder"
    folder.mkdir()
    file = AppendedFile(folder / "out", OWNER, getLogger("test"))
    file.start()
    folder.rename(inside / "moved")
    folder.symlink_to(outside.parent)
    with pytest.raises(OutsideRoots):
        file.start()
    assert [each.name for each in outside.parent.iterdir()] == [outside.name]


def test_a_database_file_is_opened_beneath_the_folders_alone(inside: Path, tmp_path: Path) -> None:
    database = tmp_path / "other.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE t (a)")
    (inside / "link.db").symlink_to(database)
    for path in (database, inside / "link.db"):
        place = Endpoint("sqlite", "", 0, str(path))
        for each in (place, replace(place, writes=True)):
            with pytest.raises(OutsideRoots):
                dialect_of(each).connect(each, "", "")
    allowed = Endpoint("sqlite", "", 0, str(inside / "own.db"), writes=True)
    with closing(dialect_of(allowed).connect(allowed, "", "")) as connection, pytest.raises(sqlite3.Error, match="attached"):
        connection.execute(f"ATTACH '{database}' AS other")


def checked(executor: Any, **config: str) -> list[Any]:
    """The problems that an executor finds."""
    config["connector.class"] = config.pop("plugin")
    request = pb.ValidateConnectorRequest(name="x", config=config)
    return list(executor.stub().ValidateConnector(request, timeout=60).problems)


def test_an_executor_that_was_told_nothing_reads_and_writes_no_files_and_names_the_setting(
    start_executor: Start, plane: Any, tmp_path: Path
) -> None:
    executor = start_executor(read_roots="", write_roots="")
    plane.wait_for(lambda: plane.registrations)
    source = checked(executor, plugin="file_source", topic="t", filename="/etc/passwd", format="csv", columns="zz:int64")
    assert [(each.key, "--read-roots" in each.reason, READ_ROOTS in each.fix) for each in source] == [("filename", True, True)]
    assert "root:" not in str(source)
    for plugin in ("file_sink", "file_lines"):
        sink = checked(executor, plugin=plugin, topics="t", filename=f"{tmp_path}/out")
        assert [(each.key, "--write-roots" in each.reason, WRITE_ROOTS in each.fix) for each in sink] == [("filename", True, True)]
    lake = checked(executor, plugin="jdbc_sink", topics="t", **{"connection.url": f"sqlite:///{tmp_path}/a.db"})
    assert any("--write-roots" in each.reason for each in lake)
    table = checked(executor, plugin="jdbc_source", topic="t", **{"connection.url": f"sqlite:///{tmp_path}/a.db"})
    assert any("--read-roots" in each.reason for each in table)
    assert not list(tmp_path.glob("*.db"))


def test_an_executor_tells_nothing_of_a_file_behind_a_link_of_a_folder_that_it_reads(
    start_executor: Start, plane: Any, inside: Path, outside: Path
) -> None:
    (inside / "fine.csv").write_text("a,b\n1,2\n")
    (inside / "link.csv").symlink_to(outside)
    (inside / "folder").symlink_to(outside.parent)
    executor = start_executor(read_roots=str(inside), write_roots="")
    plane.wait_for(lambda: plane.registrations)
    config = {"plugin": "file_source", "topic": "t", "format": "csv", "columns": "zz:int64"}
    assert not checked(executor, **{**config, "columns": "", "filename": f"{inside}/fine.csv"})
    for name in ("link.csv", "li*.csv", "folder/secret.txt", "folder/*", "**/secret.txt", "../outside/*", "*/../../outside/*"):
        problems = checked(executor, **{**config, "filename": f"{inside}/{name}"})
        assert any("--read-roots" in each.reason for each in problems), (name, problems)
        assert CANARY not in str(problems)


def test_a_check_does_not_repeat_what_is_in_a_file(start_executor: Start, plane: Any, inside: Path) -> None:
    (inside / "shadow").write_text(f"{CANARY}:1,{CANARY}:2\nx,y\n")
    (inside / "twice").write_text(f"{CANARY},{CANARY}\nx,y\n")
    executor = start_executor(read_roots=str(inside))
    plane.wait_for(lambda: plane.registrations)
    config = {"plugin": "file_source", "topic": "t", "format": "csv"}
    for name, more, key in (
        ("shadow", {"columns": "zz:int64"}, "columns"),
        ("shadow", {"csv.delimiter": ":", "key.field": "zz"}, "key.field"),
        ("twice", {}, "filename"),
    ):
        problems = checked(executor, **config, **more, filename=f"{inside}/{name}")
        assert [each.key for each in problems] == [key], problems
        assert CANARY not in str(problems)


def test_nothing_is_allowed_by_default_and_an_instance_of_one_user_says_what_is() -> None:
    defaults = {name: field.default for name, field in ExecutorSettings.__dataclass_fields__.items()}
    assert defaults["read_roots"] == defaults["write_roots"] == ""
    assert "all that your account may" in topology.files_said({})
    assert topology.files_said({READ_ROOTS: "/in", WRITE_ROOTS: ""}) == "connectors read beneath /in, and write beneath nothing"


def test_what_is_the_products_own_is_out_of_reach_wherever_the_folders_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, callers = tmp_path / "data", tmp_path / "callers"
    data.mkdir()
    callers.write_text(CANARY)
    (data / "config.db").write_text(CANARY)
    (tmp_path / "link").symlink_to(data)
    (tmp_path / "mine").write_text("mine")
    for name, value in {READ_ROOTS: "/", WRITE_ROOTS: "/", OWN_FILES: f"{data}{os.pathsep}{callers}"}.items():
        monkeypatch.setenv(name, value)
    for path in (callers, data, data / "config.db", data / "new", tmp_path / "link" / "config.db", data / ".." / "callers"):
        for given, flags in ((reading(), os.O_RDONLY), (writing(), os.O_WRONLY | os.O_APPEND | os.O_CREAT)):
            assert given.problem(path) == f"belongs to RocketConnect itself, so no connector may {given.access.value} it"
            assert given.fix(path) == "Name a file elsewhere."
            with pytest.raises(OutsideRoots, match="belongs to RocketConnect itself"):
                given.open(path, flags)
    assert reading().problem(tmp_path / "mine") is writing().problem(tmp_path / "data2") is None
    assert sorted(path.name for path in data.iterdir()) == ["config.db"]


def test_an_executor_tells_its_hosts_of_all_its_tokens_and_keys(tmp_path: Path) -> None:
    named = {name: tmp_path / name for name in ("token_file", "vault_token_file", "lineage_token_file")}
    for path in named.values():
        path.write_text("t")
    callers = tmp_path / "callers"
    callers.write_text("")
    settings = ExecutorSettings(
        name_server="127.0.0.1:9876",
        config_address="127.0.0.1:1",
        position_address="127.0.0.1:2",
        state_address="127.0.0.1:3",
        cluster_address="127.0.0.1:4",
        token_file=named["token_file"],
        vault_token_file=named["vault_token_file"],
        lineage_token_file=named["lineage_token_file"],
        vault_address="https://vault:8200",
        vault_paths="secret/a",
        tokens_files=str(callers),
        own_files="/d",
    )
    told = settings.told_of_own_files().split(os.pathsep)
    assert set(told) == {"/d", str(callers), *map(str, named.values())}


def test_an_instance_keeps_connectors_out_of_what_it_keeps_itself() -> None:
    ports = topology.Ports(1, 2, {"config": 3, "position": 4, "state": 5, "cluster": 6}, (7,))
    rest = topology.Rest("0.0.0.0", [Path("/etc/callers")], Path("/etc/rest.pem"), Path("/etc/rest.key"))
    services = topology.services(ports, data=Path("/d"), name_server="n:1", rest=rest)
    (told,) = (each.environment["ROCKETCONNECT_OWN_FILES"] for each in services if each.kind == "executor")
    assert told.endswith(":/etc/callers:/etc/rest.key")
    assert {"/d/access", "/d/config.db", "/d/position.db-wal", "/d/rocketmq"} < set(told.split(":"))


def test_where_others_may_call_nothing_is_taken_for_granted() -> None:
    missing = topology.unnamed({READ_ROOTS: "", "ROCKETCONNECT_SECRET_FOLDERS": "/etc/secrets"})
    assert missing == (
        "set ROCKETCONNECT_WRITE_ROOTS (folders beneath which they may write files), "
        "ROCKETCONNECT_SECRET_VARIABLES (variables that ${env:..} may stand for); an empty one allows none"
    )
    assert topology.unnamed(dict.fromkeys(topology.TO_BE_NAMED, "")) == ""


def test_a_second_name_of_a_file_is_made_beneath_the_folders_alone_and_replaces_nothing(inside: Path, outside: Path) -> None:
    first, second = inside / "first", inside / "second"
    first.write_text("1")
    writing().link(first, second)
    assert second.read_text() == "1"
    with pytest.raises(FileExistsError):
        writing().link(first, second)
    (inside / "link").symlink_to(outside.parent)
    for place in (outside.parent / "new", inside / "link" / "new"):
        with pytest.raises(OutsideRoots):
            writing().link(first, place)
    assert [each.name for each in outside.parent.iterdir()] == [outside.name]
