"""A Spark standalone cluster on this machine, from pyspark's own jars: a master and workers."""

import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pyspark

from bench.workload import BenchFailed
from rocketconnect_cli.embedded import ports
from rocketconnect_kit.tethered import tethered
from rocketconnect_sdk.permissions.spark_profiles import PROFILES

START_SECONDS = 300.0
POLL_SECONDS = 0.1
_HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class SparkStandalone:
    """A running cluster.

    Attributes:
        master: Its URL.
        roots: The processes of the master and of the workers; executors are below those.
        workers: The processes of the workers.
    """

    master: str
    roots: Collection[int]
    workers: Sequence[int]


@contextmanager
def spark_standalone(folder: Path, workers: int = 2, cores: int = 1) -> Iterator[SparkStandalone]:
    """A cluster until the end of the block; its logs are in the folder.

    Args:
        folder: Is made.
        workers: How many workers there are.
        cores: How many each has, with 1 GiB of memory for each.

    Raises:
        BenchFailed: it does not start.
    """
    folder.mkdir(exist_ok=True)
    port, page = ports.choose(), ports.choose()
    master = f"spark://{_HOST}:{port}"
    with ExitStack() as running:
        words = ["master.Master", "--host", _HOST, "--port", str(port), "--webui-port", str(page)]
        processes = [running.enter_context(_running(words, folder / "master.log"))]
        places = [folder / f"worker-{number}" for number in range(workers)]
        processes += [running.enter_context(spark_worker(place, master, cores)) for place in places]
        deadline = time.monotonic() + START_SECONDS
        while _alive_workers(page) < workers:
            if time.monotonic() > deadline or any(process.poll() is not None for process in processes):
                msg = f"the Spark cluster did not start: {(folder / 'master.log').read_text(errors='replace')[-2000:]}"
                raise BenchFailed(msg)
            time.sleep(POLL_SECONDS)
        roots = [process.pid for process in processes]
        yield SparkStandalone(master, roots, roots[1:])


@contextmanager
def spark_worker(folder: Path, master: str, cores: int = 1, within: Sequence[str] = ()) -> Iterator["subprocess.Popen[bytes]"]:
    """A worker until the end of the block, which takes a moment to find its master; the log is beside the folder.

    Args:
        folder: Of its work.
        master: The URL of the master.
        cores: How many it has, with 1 GiB of memory for each.
        within: A command that becomes the one behind it, as `unshare` does.
    """
    words = ["worker.Worker", "--host", _HOST, "--webui-port", "0", "--cores", str(cores), "--memory", f"{cores}g"]
    with _running([*words, "--work-dir", str(folder), master], folder.with_suffix(".log"), within) as process:
        yield process


@contextmanager
def _running(words: list[str], log: Path, within: Sequence[str] = ()) -> Iterator["subprocess.Popen[bytes]"]:
    home = Path(pyspark.__path__[0])
    main, *arguments = words
    # The program becomes Java, so the process id stays; the executors of a worker end when it is gone.
    command = tethered([*within, str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{main}", *arguments])
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": _HOST, "PYSPARK_PYTHON": sys.executable}
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def spark_profile(file: Path, name: str, settings: Mapping[str, str]) -> Iterator[None]:
    """An instance that is started within the block has a Spark profile.

    Args:
        file: Where it is written.
        name: Of the profile.
        settings: Its keys, but for the address of the driver.
    """
    keys = {**settings, "spark.driver.host": _HOST}
    text = "".join(f'"{key}" = "{value}"\n' for key, value in keys.items())
    file.write_text(f'["{name}"]\n{text}', encoding="utf-8")
    os.environ[PROFILES] = str(file)
    try:
        yield
    finally:
        del os.environ[PROFILES]


def _alive_workers(page: int) -> int:
    try:
        return int(httpx.get(f"http://{_HOST}:{page}/json/", timeout=1.0).json()["aliveworkers"])
    except (httpx.TransportError, ValueError, KeyError):
        return 0
