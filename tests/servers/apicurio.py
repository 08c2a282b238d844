"""Apicurio Registry, which speaks the API of Confluent's: a real schema registry, with its store in memory."""

import hashlib
import os
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from rocketconnect_kit.java import ivy
from rocketconnect_kit.java.errors import JarsUnavailable
from rocketconnect_kit.java.find import find_java
from rocketconnect_kit.java.ivy import REPOSITORY_VARIABLE as REPOSITORY
from rocketconnect_kit.java.jars import cache_folder
from tests import free_ports
from tests.server_process import START_SECONDS

VERSION = "3.0.9"
FOLDER_VARIABLE = "ROCKETCONNECT_APICURIO"
_NAME = "apicurio-registry-app"
_SHA256 = "2b28181501a20cbf6efcd77f9b7153908fc01f3d3a7c32024c0bd9e1b04c8a43"


class ApicurioFailed(Exception):
    """It could not be downloaded, or does not start; the text says what to do."""


@contextmanager
def running() -> Iterator[str]:
    """Run it until the end of the block; gives its URL in Confluent's form.

    Raises:
        ApicurioFailed: see there.
    """
    folder, port = _folder(), free_ports.choose()
    jar = folder / f"apicurio-registry-app-{VERSION}-runner.jar"
    url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
    # Vert.x leaves a cache there when it is killed.
    with tempfile.TemporaryFile() as log, tempfile.TemporaryDirectory() as scratch:
        options = (f"-Djava.io.tmpdir={scratch}", "-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}")
        command = [str(find_java()), "-Xmx400m", *options, "-jar", str(jar)]
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            deadline = time.monotonic() + START_SECONDS
            while not _is_ready(url):
                if process.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    msg = f"Apicurio did not start:\n{log.read().decode(errors='replace')[-5_000:]}"
                    raise ApicurioFailed(msg)
                time.sleep(0.2)
            yield url
        finally:
            process.kill()
            process.wait()


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/subjects", timeout=2).status_code == 200
    except httpx.HTTPError:
        return False


def _folder() -> Path:
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given)
    folder = cache_folder() / f"apicurio-registry-{VERSION}"
    if not folder.is_dir():
        _download(folder)
    return folder


def _download(folder: Path) -> None:
    artifact = f'<artifact name="{_NAME}" type="jar" ext="tar.gz" m:classifier="all"/>'
    wanted = (
        f'<dependency org="io.apicurio" name="{_NAME}" rev="{VERSION}" transitive="false" conf="default">{artifact}</dependency>'
    )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        archive = Path(work, "lib", f"{_NAME}-{VERSION}-all.tar.gz")
        try:
            ivy.resolve(
                ivy.module([wanted]), ivy.settings(os.environ.get(REPOSITORY)), Path(work), java=find_java(), on_jar=lambda: None
            )
        except JarsUnavailable as error:
            msg = (
                f"Apicurio could not be downloaded (109 MB): {error}. Name a mirror in {REPOSITORY}, or unpack "
                f"the archive by hand and name its folder in {FOLDER_VARIABLE}"
            )
            raise ApicurioFailed(msg) from error
        with archive.open("rb") as file:
            if (found := hashlib.file_digest(file, "sha256").hexdigest()) != _SHA256:
                msg = f"{archive.name} has the SHA-256 {found}, and not that of Apicurio {VERSION}"
                raise ApicurioFailed(msg)
        with tarfile.open(archive) as packed:
            packed.extractall(Path(work, "unpacked"), filter="data")
        Path(work, "unpacked").rename(folder)
