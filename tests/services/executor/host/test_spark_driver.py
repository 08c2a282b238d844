"""The Spark driver of a host, with the real Spark."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from services.executor.contract.messages import Exit
from tests.ended import ended

pytestmark = pytest.mark.spark

HOST = """
import time
from services.executor.contract.messages import StartSpark
from services.executor.host.spark import SparkDriver
class Line:
    def send(self, message): print(type(message).__name__, flush=True)
driver = SparkDriver(StartSpark({}, ""), Line())
driver.warm_up()
session = driver.session()
assert driver.session() is session
print("pid", session.sparkContext._gateway.proc.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.slow
def test_java_ends_with_a_host_that_is_killed_and_not_with_the_thread_that_asked_for_it() -> None:
    with subprocess.Popen([sys.executable, "-c", HOST], stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == "SparkReady\n"
        word, pid = host.stdout.readline().split()
        assert word == "pid"
        java = psutil.Process(int(pid))
        assert Path(java.exe()).name == "java"
        time.sleep(3)  # the first jobs run, and the thread that asked for them ends
        assert java.is_running()
        host.kill()
        host.wait()
        deadline = time.monotonic() + 60
        while not ended(java):
            assert time.monotonic() < deadline, "Java is still there though its host was killed"
            time.sleep(0.02)


HANGS = """
import time
import services.executor.runtime.sink.spark.session as spark_session
from services.executor.contract.messages import StartSpark
from services.executor.host.spark import SparkDriver
spark_session.make_session = lambda *_: time.sleep(600)
class Line:
    def send(self, message): print(message, flush=True)
driver = SparkDriver(StartSpark({}, ""), Line(), start_seconds=0.2)
driver.warm_up()
driver.session()
"""


def test_a_start_that_hangs_ends_the_host_which_is_then_started_again() -> None:
    ended = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (Exit.SPARK_LATE, "", "")


GONE = HOST.replace(
    "time.sleep(600)",
    """import os, signal
from py4j.protocol import Py4JError
driver.end_if_gone()
print("there", flush=True)
os.kill(session.sparkContext._gateway.proc.pid, signal.SIGKILL)
try:
    while True:
        session.sparkContext._jvm.System.nanoTime()
except (Py4JError, OSError):
    driver.end_if_gone()
    print("a task has failed", flush=True)
""",
)


@pytest.mark.slow
def test_when_java_is_gone_the_host_ends_before_a_task_of_it_tells_that_it_failed() -> None:
    ended = subprocess.run([sys.executable, "-c", GONE], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == Exit.SPARK_GONE
    assert ended.stdout.splitlines()[2:] == ["there"]


WITH_JARS = """
import sys
from services.executor.contract.messages import StartSpark
from services.executor.host.spark import SparkDriver
class Line:
    def send(self, message): print(message, flush=True)
driver = SparkDriver(StartSpark({"spark.sql.extensions": "a.B"}, "", "Some Logger 1.7.36", sys.argv[1]), Line())
print(driver.doing, flush=True)
Line.send = lambda self, message: (print(message, flush=True), print(driver.doing, flush=True))
try:
    session = driver.session()
except Exception as error:
    print(type(error).__name__, error, flush=True)
else:
    print(session.conf.get("spark.jars"), session.conf.get("spark.sql.extensions"), flush=True)
    print(session.sparkContext._jvm.java.lang.Class.forName("org.slf4j.impl.SimpleLogger", False, session.sparkContext._jvm
        .java.lang.Thread.currentThread().getContextClassLoader()).getName(), flush=True)
"""


@pytest.mark.slow
def test_the_jars_that_a_sink_needs_are_fetched_once_and_are_in_the_session(tmp_path: Path) -> None:
    listing = tmp_path / "some-logger-1.7.36.jars"
    listing.write_text("org.slf4j:slf4j-simple:1.7.36 2f39bed943d624dfa8f4102d0571283a10870b6aa36f197a8a506f147010c10f\n")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    for fetched in (["done=0, total=1", "done=1, total=1"], []):
        words = [sys.executable, "-c", WITH_JARS, str(listing)]
        said = subprocess.run(words, capture_output=True, text=True, timeout=240, check=True, env=environment).stdout.splitlines()
        assert [line for line in said if line.startswith("SparkFetches")] == [
            f"SparkFetches(title='Some Logger 1.7.36', {each})" for each in fetched
        ]
        assert said[0] == "starting Spark"
        doing = [line for line in said if line.startswith("starting Spark: ")]
        there = [f"starting Spark: fetching Some Logger 1.7.36, {each} of 1 jars are there" for each in range(len(fetched))]
        assert doing == [*there, "starting Spark: its first jobs"]
        assert said[-2:] == [
            f"file://{tmp_path}/rocketconnect/some-logger-1.7.36/slf4j-simple-1.7.36.jar a.B",
            "org.slf4j.impl.SimpleLogger",
        ]


def test_jars_that_are_others_than_those_that_were_pinned_are_not_used(tmp_path: Path) -> None:
    listing = tmp_path / "some-logger-1.7.36.jars"
    listing.write_text(f"org.slf4j:slf4j-simple:1.7.36 {'0' * 64}\n")
    words = [sys.executable, "-c", WITH_JARS, str(listing)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    said = subprocess.run(words, capture_output=True, text=True, timeout=240, check=True, env=environment).stdout
    assert "RetriableError Spark could not be started: the repository served other content than Some Logger 1.7.36 had" in said
