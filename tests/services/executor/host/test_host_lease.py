"""What a host does with a change of a target that its lease does not cover any more."""

import subprocess
import sys
import time

from services.executor.contract.messages import Exit

HOST = """
import socket, sys, time
from rocketconnect_kit.clock import boot_seconds
from services.executor.host.line import Line
from services.executor.host.tasks import Tasks
from services.executor.contract.endpoints import Endpoints

ours, theirs = socket.socketpair()
tasks = Tasks(Line(ours))
tasks.lease.renew(boot_seconds() + 0.3)
tasks.lease.begin_change()
if sys.argv[1] == "made":
    tasks.lease.end_change()
tasks.begin(Endpoints("127.0.0.1:1", "127.0.0.1:1", send_deadline=float(sys.argv[2])))
time.sleep(1 + 1.5 * float(sys.argv[2]))
"""


def end_of(*arguments: str) -> tuple[int, float]:
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", HOST, *arguments], timeout=60, check=False)
    return done.returncode, time.monotonic() - began


def test_a_change_that_is_under_way_beyond_the_lease_ends_the_process_before_anybody_else_begins() -> None:
    code, seconds = end_of("under way", "2")
    assert code == Exit.LEASE_LOST
    assert seconds > 1.3


def test_a_change_that_was_made_in_the_lease_ends_nothing() -> None:
    assert end_of("made", "0.5")[0] == 0
