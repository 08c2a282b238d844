import subprocess
from pathlib import Path

import pytest

from connectors.objects.files import Status
from connectors.sftp.ftp_answers import Listed, of_facts, of_line
from connectors.sftp.ftp_source import FtpSource
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import parse
from tests.connectors.sftp.known import KnownFtpSource, with_secrets
from tests.connectors.sftp.reading import reading
from tests.servers.files.ftp import Ftp


def options_of(server: Ftp, folder: Path) -> dict[str, str]:
    return {**server.options(), "path": f"/{folder.name}"}


def look(options: dict[str, str], **secrets: str) -> list[Problem]:
    return list(FtpSource().check(with_secrets(parse(FtpSource.options, {"format": "text", **options}), **secrets)))


@pytest.mark.slow
@pytest.mark.parametrize("without", [(), ("MLSD", "MLST"), ("REST",), ("MLSD", "MLST", "REST")], ids=" ".join)
def test_files_are_read_by_what_the_server_knows(without: tuple[str, ...]) -> None:
    lines = [f"{number} {'x' * 1000}" for number in range(9_000)]
    names = ["with blank.txt", "ü.txt", "below/a.txt"]
    with Ftp(without=without).running() as server:
        folder = server.made()
        (folder / "below").mkdir()
        for name in names:
            (folder / name).write_text(f"{name}\n")
        (folder / "large.txt").write_text("".join(f"{line}\n" for line in lines))
        (folder / "below" / "circle").symlink_to("..")
        with reading(KnownFtpSource(), options_of(server, folder) | {"follow": "false"}) as run:
            found = [str(value) for value in run.to_end()]
            assert sorted(each for each in found if len(each) < 100) == sorted(names)
            assert [each for each in found if len(each) > 100] == lines
            assert look(options_of(server, folder)) == []
        assert (server.asked("MLSD") > 0) == ("MLSD" not in without)
        # A piece at a time, or the whole once: not the whole for each piece. The log of the server has each twice.
        assert server.asked("RETR") < 15


@pytest.mark.slow
@pytest.mark.parametrize("after", ["delete", "move"])
def test_what_was_read_is_deleted_or_moved(ftp_server: Ftp, after: str) -> None:
    folder = ftp_server.made()
    (folder / "a.txt").write_text("a\n")
    more = {"after.read": after, "follow": "false"} | ({"after.read.folder": "_read/all"} if after == "move" else {})
    with reading(KnownFtpSource(), options_of(ftp_server, folder) | more) as run:
        assert run.to_end() == ["a"]
    left = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    assert left == (["_read/all/a.txt"] if after == "move" else [])


@pytest.mark.slow
def test_a_file_that_may_not_be_deleted_fails_the_task() -> None:
    with Ftp(rights="elr").running() as server:
        folder = server.made()
        (folder / "a.txt").write_text("a\n")
        wanted = options_of(server, folder) | {"after.read": "delete", "follow": "false"}
        with reading(KnownFtpSource(), wanted) as run, pytest.raises(PermanentError, match="does not allow it"):
            run.to_end()
        assert (folder / "a.txt").exists()


@pytest.mark.slow
def test_a_server_that_wants_tls_is_spoken_to_so_when_its_certificate_is_known(tmp_path: Path) -> None:
    certificate, both = tmp_path / "certificate.pem", tmp_path / "both.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=server"
    more = f"-addext subjectAltName=IP:127.0.0.1 -keyout {tmp_path}/key -out {certificate}"
    subprocess.run(["openssl", *words.split(), *more.split()], check=True, capture_output=True)
    both.write_text(certificate.read_text() + (tmp_path / "key").read_text())
    with Ftp(certificate=both).running() as server:
        folder = server.made()
        (folder / "a.txt").write_text("a\n")
        known = {"tls": "true", "ssl.ca.location": str(certificate)}
        with reading(KnownFtpSource(), options_of(server, folder) | known) as run:
            assert run.until(1) == ["a"]
        assert look(options_of(server, folder) | known) == []
        (only,) = look(options_of(server, folder) | {"tls": "true"})
        assert (only.key, only.is_warning) == ("ssl.ca.location", False)
        (only,) = look(options_of(server, folder))
        assert (only.key, only.is_warning) == ("path", False)


@pytest.mark.slow
def test_what_is_wrong_is_told(ftp_server: Ftp) -> None:
    folder = ftp_server.made()
    (folder / "file").write_text("x")
    options = options_of(ftp_server, folder)
    assert [(each.key, each.is_warning) for each in look(options, FTP_PASSWORD="wrong")] == [("username", False)]
    for wrong, key, reason, is_warning in (
        ({"port": "1"}, "host", "does not answer", True),
        ({"path": f"/{folder.name}/no"}, "path", "is not there yet", True),
        ({"path": f"/{folder.name}/file"}, "path", "is a file", False),
        ({"tls": "true"}, "path", "cannot do it", False),
        ({"ssl.ca.location": "/not/there"}, "ssl.ca.location", "means nothing with tls=false", False),
    ):
        found = look(options | wrong)
        assert [(each.key, each.is_warning) for each in found[:1]] == [(key, is_warning)], found
        assert reason in found[0].reason


def test_lines_of_listings_are_read_in_the_forms_of_servers() -> None:
    for line, expected in (
        ("-rw-r--r--   1 owner    group        1234 Jan 01 12:30 a b.txt", Listed("a b.txt", False)),
        ("drwxr-xr-x   2 owner    group        4096 Jan 01  2020 sub", Listed("sub", True)),
        ("-rw-r--r--+  1 1001     1001            0 Nov  9 01:02  leading", Listed(" leading", False)),
        ("lrwxrwxrwx   1 owner    group           5 Jan 01 12:30 link -> a.txt", None),
        ("drwxr-xr-x   2 owner    group        4096 Jan 01  2020 ..", None),
        ("01-29-26  03:45PM       <DIR>          Sub Folder", Listed("Sub Folder", True)),
        ("01-29-2026  15:45           1234 a b.txt", Listed("a b.txt", False)),
        ("total 12", None),
    ):
        assert of_line(line) == expected, line


def test_facts_say_what_a_file_is() -> None:
    facts = {"type": "file", "size": "10", "modify": "20260101123000.123", "unique": "8U3"}
    assert of_facts("a", facts) == Listed("a", False, Status("a", False, 10, "20260101123000-a-8U3"))
    assert of_facts("a", {"type": "file"}) == Listed("a", False)
    assert of_facts("a", {"type": "dir", "unique": "1"}) == Listed("a", True, identity="1")
    for kind in ("cdir", "pdir", "OS.unix=slink:/b"):
        assert of_facts("a", {"type": kind}) is None
