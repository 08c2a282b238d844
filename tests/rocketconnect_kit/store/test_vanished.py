"""A service whose machine vanishes, as its PostgreSQL sees it: nobody says that the connection is over. Needs root."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.chaos import network
from tests.servers.postgres import Postgres

SESSION = """
import sys, time
from rocketconnect_kit.errors import Unavailable
from rocketconnect_kit.store import database
engine = database.engine(sys.argv[1])
while True:
    try:
        with database.reading(engine) as connection:
            print(connection.exec_driver_sql("SELECT pg_backend_pid()").scalar(), flush=True)
            break
    except Unavailable:
        time.sleep(0.1)
time.sleep(1000)
"""


@pytest.mark.slow
@pytest.mark.postgres
def test_the_server_ends_the_sessions_of_a_machine_that_vanished() -> None:
    server, host = Postgres(fsync="off"), network.namespace()
    there = ["nsenter", f"--net=/proc/{host.pid}/ns/net"]
    quiet = subprocess.DEVNULL
    with (
        subprocess.Popen([*there, *server.command()], stdout=quiet, stderr=quiet, cwd="/", start_new_session=True) as running,
        subprocess.Popen([*there, sys.executable, "-c", SESSION, server.url()], stdout=subprocess.PIPE, text=True) as service,
    ):
        try:
            assert service.stdout is not None
            session = Path(f"/proc/{int(service.stdout.readline())}")
            network.inside(host.pid, "ip", "link", "set", "lo", "down")
            service.kill()
            deadline = time.monotonic() + 120
            while session.exists():
                assert time.monotonic() < deadline, "it stays for as long as the machine of the server is told to keep it"
                time.sleep(0.2)
        finally:
            running.send_signal(signal.SIGQUIT)
            service.kill()
            host.kill()
            host.wait()
    server.remove()
