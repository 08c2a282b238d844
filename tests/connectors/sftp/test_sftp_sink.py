"""What a server of SFTP does to a sink. That each row is there once whoever is late is shown where the stores are."""

import os
import signal
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from connectors.sftp.sink import SftpSink
from connectors.sftp.source import SftpSource
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.options import parse
from tests.connectors.object_store_sink.prefix import files_in, lines_of, row
from tests.connectors.object_store_sink.run import opened, rows_of
from tests.connectors.sftp.reading import reading
from tests.servers.files import ssh_stand_in
from tests.servers.files.ftp import PASSWORD
from tests.servers.files.openssh import OpenSsh


@pytest.fixture
def folder(sftp_server: OpenSsh) -> Path:
    return sftp_server.made()


@pytest.fixture
def options(sftp_server: OpenSsh, folder: Path) -> dict[str, str]:
    return {**sftp_server.options(), "path": f"{folder}/out", "format": "jsonlines"}


def expected(until: int) -> list[object]:
    return [row(0, offset) for offset in range(until)]


def rows(folder: Path) -> list[object]:
    return lines_of(lambda: files_in(folder))


def test_what_it_writes_is_read_and_nothing_that_it_keeps_for_itself(folder: Path, options: dict[str, str]) -> None:
    run = opened(options).start()
    run.write(10)
    run.write(20)
    run.task.close()
    assert rows(folder) == expected(20)
    with reading(SftpSource(), options | {"format": "jsonlines", "follow": "false"}) as read:
        assert read.to_end() == expected(20)


@pytest.mark.slow
def test_a_connection_that_is_cut_at_any_time_doubles_nothing(sftp_server: OpenSsh, folder: Path, options: dict[str, str]) -> None:
    before = sftp_server.sessions()
    run = opened(options | {"request.timeout": "5s"}).start()
    for until in range(100, 2100, 100):
        commit, batch = run.commit_of(until), run.batch(until)
        for attempt in range(10):
            if attempt < 2:
                sftp_server.send(signal.SIGKILL, sftp_server.sessions() - before)
            try:
                receipt = run.stage(batch, f"part-{until}-{attempt}")
                if attempt < 3:
                    sftp_server.send(signal.SIGKILL, sftp_server.sessions() - before)
                run.task.commit([receipt], commit)
            except (SystemAway, RetriableError):
                continue
            break
        run.positions |= commit.after
    run.task.close()
    assert rows(folder) == expected(2000)
    newer = opened(options, epoch=2).start()
    newer.task.close()
    assert not [name for name in files_in(folder) if "/staged/" in name]


@pytest.mark.slow
def test_a_server_that_is_silent_is_waited_for(sftp_server: OpenSsh, folder: Path, options: dict[str, str]) -> None:
    before = sftp_server.sessions()
    run = opened(options | {"request.timeout": "0.5s"}).start()
    commit, batch = run.commit_of(10), run.batch(10)
    receipt = run.stage(batch)
    silent = sftp_server.sessions() - before
    sftp_server.send(signal.SIGSTOP, silent)
    with pytest.raises(SystemAway, match="nothing came for"):
        run.task.commit([receipt], commit)
    sftp_server.send(signal.SIGKILL, silent)
    run.task.commit([receipt], commit)
    run.task.close()
    assert rows(folder) == expected(10)


@pytest.mark.slow
@pytest.mark.parametrize("denied", ["posix-rename", "fsync"])
def test_without_atomic_renames_it_writes_nothing_and_without_fsync_it_writes(denied: str) -> None:
    with OpenSsh(denied=denied).running() as server:
        folder = server.made()
        run = opened({**server.options(), "path": str(folder), "format": "jsonlines"})
        if denied == "fsync":
            run.start()
            run.write(10)
            assert rows(folder) == expected(10)
        else:
            with pytest.raises(PermanentError, match="posix-rename@openssh"):
                run.start()
            assert files_in(folder) == {}
        run.task.close()


@pytest.mark.slow
def test_a_folder_that_may_not_be_written_is_told(folder: Path, options: dict[str, str]) -> None:
    folder.chmod(0o555)
    if os.geteuid() == 0:
        os.chown(folder, 0, 0)
    run = opened(options)
    with pytest.raises(PermanentError, match="does not allow it"):
        run.start()
    run.task.close()
    config = parse(SftpSink.options, options | {"path": "/proc/version"})
    (only,) = SftpSink().check(config)
    assert (only.key, only.reason) == ("path", "is a file")


class Full(asyncssh.SFTPServer):
    """It has no room for more than some bytes."""

    def write(self, file_obj: Any, offset: int, data: bytes) -> int:
        if len(data) > 2000:
            msg = "Failure"
            raise asyncssh.SFTPFailure(msg)
        return super().write(file_obj, offset, data)  # type: ignore[return-value]  # it is one


@pytest.mark.slow
def test_a_disk_that_is_full_is_waited_for_and_no_half_of_a_file_has_its_name(tmp_path: Path) -> None:
    with ssh_stand_in.running(tmp_path, PASSWORD, files=Full) as options:
        config = {**options, "password": "${env:SFTP_PASSWORD}", "path": "/out", "format": "jsonlines"}
        run = opened(config).start()
        run.write(10)
        with pytest.raises(RetriableError, match=r"has no room for it \(Failure\)"):
            run.stage(rows_of(range(10, 1000)), "large")
        assert rows(tmp_path) == expected(10)
        run.write(20)
        assert rows(tmp_path) == expected(20)
        run.task.close()
