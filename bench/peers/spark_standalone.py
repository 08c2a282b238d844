"""A Spark standalone cluster on this machine, from pyspark's own jars: a master, and workers of one core each."""

import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pyspark

from bench.workload import BenchFailed
from rocketconnect_cli.embedded import ports
from rocketconnect_kit.tethered import tethered

START_SECONDS = 90.0
POLL_SECONDS = 0.1
_HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class SparkStandalone:
    """A running cluster.

    Attributes:
        master: Its URL.
        roots: The processes of the master and of the workers; executors are below those.
    """

    master: str
    roots: Collection[int]


@contextmanager
def spark_standalone(folder: Path, workers: int = 2) -> Iterator[SparkStandalone]:
    """A cluster until the end of the block; its logs are in the folder.

    Raises:
        BenchFailed: it does not start.
    """
    folder.mkdir(exist_ok=True)
    port, page = ports.choose(), ports.choose()
    master = f"spark://{_HOST}:{port}"
    with ExitStack() as running:
        words = ["master.Master", "--host", _HOST, "--port", str(port), "--webui-port", str(page)]
        processes = [running.enter_context(_running(words, folder / "master.log"))]
        for number in range(workers):
            place = folder / f"worker-{number}"
            words = ["worker.Worker", "--host", _HOST, "--webui-port", "0", "--cores", "1", "--memory", "1g"]
            log = folder / f"worker-{number}.log"
            processes.append(running.enter_context(_running([*words, "--work-dir", str(place), master], log)))
        deadline = time.monotonic() + START_SECONDS
        while _alive_workers(page) < workers:
            if time.monotonic() > deadline or any(process.poll() is not None for process in processes):
                msg = f"the Spark cluster did not start: {(folder / 'master.log').read_text(errors='replace')[-2000:]}"
                raise BenchFailed(msg)
            time.sleep(POLL_SECONDS)
        yield SparkStandalone(master, [process.pid for process in processes])


@contextmanager
def _running(words: list[str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    home = Path(pyspark.__path__[0])
    main, *arguments = words
    # The program becomes Java, so the process id stays; the executors of a worker end when it is gone.
    command = tethered([str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{main}", *arguments])
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": _HOST, "PYSPARK_PYTHON": sys.executable}
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def _alive_workers(page: int) -> int:
    try:
        return int(httpx.get(f"http://{_HOST}:{page}/json/", timeout=1.0).json()["aliveworkers"])
    except (httpx.TransportError, ValueError, KeyError):
        return 0
