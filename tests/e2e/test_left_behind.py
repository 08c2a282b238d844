"""After a clean stop nothing of ours is left outside of the data directory."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from rocketconnect_cli.api import Api
from rocketconnect_cli.states import wait_for
from rocketconnect_kit.tethered import tethered
from tests.ended import ended

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="mounts of its own need root"),
]
REPOSITORY = Path(__file__).parents[2]
_EMPTY = """
set -eu
mount --make-rprivate /
mount --rbind / /mnt
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /var/tmp
for path in "$@"; do
    case "$path" in /tmp/* | /var/tmp/*) mkdir -p "$path" && mount --bind "/mnt$path" "$path" ;; esac
done
mkdir "$1/before" "$1/after"
listed() { find /tmp /var/tmp /dev/shm -xdev -mindepth 1 | sort; }
listed > "$1/before/list"
trap 'kill -TERM $up' TERM
"$2/bin/rocketconnect" up --data "$1/data" --rest-port 0 --output json & up=$!
wait $up || wait $up
listed > "$1/after/list"
"""
"""Runs an instance where /tmp, /var/tmp and /dev/shm are empty, and lists what is there before and after it."""


def test_a_clean_stop_leaves_no_file_process_or_socket(tmp_path: Path) -> None:
    folder, out = tmp_path / "instance", tmp_path / "out.parquet"
    folder.mkdir()
    source = tmp_path / "in.txt"
    source.write_text("one\ntwo\n")
    arguments = ["unshare", "--mount", "bash", "-c", _EMPTY, "instance", str(folder), sys.prefix, str(REPOSITORY), str(tmp_path)]
    with subprocess.Popen(tethered(arguments), stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            with Api(str(ready["rest"])) as api:
                sink = {
                    "connector.class": "file_sink",
                    "topics": "left",
                    "filename": str(out),
                    "format": "parquet",
                    "flush.interval": "1s",
                }
                lines = {"connector.class": "file_source", "topic": "left", "filename": str(source), "value.converter": "arrow"}
                for name, config in (("left-out", {**sink, "value.converter": "arrow"}), ("left-in", lines)):
                    api.request("POST", "/v1/connectors", body={"name": name, "config": config})
                for name in ("left-in", "left-out"):
                    wait_for(api, name, ("IDLE",), 180)
            below = psutil.Process(process.pid).children(recursive=True)
            ports = {
                each.laddr.port
                for child in below
                for each in child.net_connections("tcp")
                if each.laddr and each.status == "LISTEN"
            }
            assert ports
            process.send_signal(signal.SIGTERM)
            process.wait(120)
        finally:
            process.kill()
    assert list(out.glob("*.parquet"))
    assert [child for child in below if not ended(child)] == []
    assert ports.isdisjoint(each.laddr.port for each in psutil.net_connections("tcp") if each.laddr and each.status == "LISTEN")
    left = set((folder / "after/list").read_text().splitlines()) - set((folder / "before/list").read_text().splitlines())
    assert left == set()
