"""What errors of Spark's jobs mean to a task."""

import errno
import os
from pathlib import Path

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from connectors.file_sink.jobs import staged_job
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.permissions import roots

NO_DIRECTORY = "java.io.IOException: Mkdirs failed to create file:/out/staged/_temporary/0 (exists=false)"


@pytest.fixture(autouse=True)
def anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(roots.WRITE_ROOTS, "/")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_where_hadoop_can_make_no_directory_the_task_waits_for_what_the_system_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def mkdir(path: Path, **_: object) -> None:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with pytest.raises(SystemAway, match="it goes on by itself"), staged_job(tmp_path / "staged"):
        raise Py4JError(NO_DIRECTORY)


def test_where_a_directory_can_be_made_again_the_job_is_tried_again(tmp_path: Path) -> None:
    with pytest.raises(Py4JError, match="Mkdirs failed"), staged_job(tmp_path / "staged"):
        raise Py4JError(NO_DIRECTORY)
