"""RocketMQ's jars: downloaded with the real Ivy from a repository on this machine, which serves those of the cache."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rocketconnect_cli.embedded import rocketmq_jars
from rocketconnect_cli.embedded.rocketmq_jars import JARS_VARIABLE
from rocketconnect_kit.java import jars
from rocketconnect_kit.java.errors import JarsUnavailable
from rocketconnect_kit.java.ivy import REPOSITORY_VARIABLE

DEADLINE_SECONDS = 120


class Repository:
    """A Maven repository with all pinned jars."""

    def __init__(self, folder: Path) -> None:
        source = rocketmq_jars.rocketmq_jars()
        for jar in rocketmq_jars.ROCKETMQ.pinned:
            path = self.path(folder, jar.file_name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(source / jar.file_name)
        self.folder = folder
        self.asked: list[str] = []
        asked = self.asked

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name of the base class
                asked.append(format % arguments)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.environment = {**os.environ, REPOSITORY_VARIABLE: f"http://127.0.0.1:{self.server.server_port}"}

    @staticmethod
    def path(folder: Path, file_name: str) -> Path:
        (jar,) = (jar for jar in rocketmq_jars.ROCKETMQ.pinned if jar.file_name == file_name)
        return folder / jar.group.replace(".", "/") / jar.name / jar.version / file_name

    def downloads(self) -> int:
        return sum(1 for line in self.asked if re.match(r'"GET .*\.jar .* 200', line))


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    repository = Repository(tmp_path / "repository")
    thread = threading.Thread(target=repository.server.serve_forever)
    thread.start()
    yield repository
    repository.server.shutdown()
    repository.server.server_close()
    thread.join()


def _fill(repository: Repository, cache: Path) -> subprocess.Popen[str]:
    """Start the program that fills the cache."""
    command = [sys.executable, "-m", "rocketconnect_cli.embedded"]
    environment = {**repository.environment, "XDG_CACHE_HOME": str(cache)}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def _folder(cache: Path) -> Path:
    return cache / "rocketconnect" / f"rocketmq-{rocketmq_jars.ROCKETMQ_VERSION}"


def _is_complete(cache: Path) -> bool:
    pinned = rocketmq_jars.ROCKETMQ.pinned
    return {jar.file_name: digest for jar, digest in pinned.items()} == {
        file.name: jars.sha256(file) for file in _folder(cache).iterdir()
    }


@pytest.mark.slow
def test_a_killed_download_is_continued_and_two_at_once_share_one(repository: Repository, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    with _fill(repository, cache) as killed:
        while repository.downloads() < 20:
            assert killed.poll() is None, killed.communicate()[1]
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
    assert not _folder(cache).exists()

    with _fill(repository, cache) as first, _fill(repository, cache) as second:
        for filling in (first, second):
            shown = filling.communicate(timeout=DEADLINE_SECONDS)[1]
            assert filling.returncode == 0, shown
    assert _is_complete(cache)
    # The one that was under way at the kill is fetched again, and perhaps its successor.
    assert repository.downloads() <= len(rocketmq_jars.ROCKETMQ.pinned) + 2
    assert not list(cache.glob("rocketconnect/*.partial"))


@pytest.mark.slow
def test_other_content_than_pinned_is_refused_and_not_kept(repository: Repository, tmp_path: Path) -> None:
    changed = repository.path(repository.folder, "guava-32.0.1-jre.jar")
    changed.unlink()
    changed.write_bytes(b"not guava")
    cache = tmp_path / "cache"
    with _fill(repository, cache) as filling:
        shown = filling.communicate(timeout=DEADLINE_SECONDS)[1]
    assert filling.returncode == 1
    assert "com.google.guava:guava:32.0.1-jre" in shown
    assert not _folder(cache).exists()
    assert not list(cache.glob("rocketconnect/*.partial"))


def test_without_the_repository_the_error_says_what_to_do(repository: Repository, tmp_path: Path) -> None:
    repository.environment[REPOSITORY_VARIABLE] = "http://127.0.0.1:9"
    with _fill(repository, tmp_path / "cache") as filling:
        shown = filling.communicate(timeout=DEADLINE_SECONDS)[1]
    assert filling.returncode == 1
    assert f"RocketMQ {rocketmq_jars.ROCKETMQ_VERSION} could not be downloaded" in shown
    assert f"{JARS_VARIABLE}=FOLDER" in shown
    assert "Traceback" not in shown


def test_a_given_folder_is_used_as_it_is(tmp_path: Path) -> None:
    for name in ("rocketmq-namesrv-5.3.0.jar", "rocketmq-broker-5.3.0.jar"):
        (tmp_path / name).touch()
    assert rocketmq_jars.rocketmq_jars(environment={JARS_VARIABLE: str(tmp_path)}) == tmp_path


def test_a_given_folder_without_rocketmq_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rocketmq-namesrv-5.3.0.jar").touch()
    with pytest.raises(JarsUnavailable, match=f"{JARS_VARIABLE}={tmp_path}: no rocketmq-broker"):
        rocketmq_jars.rocketmq_jars(environment={JARS_VARIABLE: str(tmp_path)})


def test_the_cache_folder_follows_the_xdg_specification() -> None:
    assert jars.cache_folder({"XDG_CACHE_HOME": "/var/cache/me"}) == Path("/var/cache/me/rocketconnect")
    assert jars.cache_folder({"XDG_CACHE_HOME": "relative"}) == Path.home() / ".cache" / "rocketconnect"
    assert jars.cache_folder({}) == Path.home() / ".cache" / "rocketconnect"


def test_the_pinned_list_is_whole() -> None:
    pinned = rocketmq_jars.ROCKETMQ.pinned
    names = {jar.name for jar in pinned}
    assert {"rocketmq-namesrv", "rocketmq-broker", "rocketmq-proxy", "rocketmq-tools", "rocketmq-client", "guava"} <= names
    assert len({jar.file_name for jar in pinned}) == len(pinned)
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in pinned.values())
