"""Settings that are secrets leave the environment of a service before it begins.

The environment that a process was started with stays readable in /proc/PID/environ for every process of its user, whatever it does
with its variables. So a service that was started with a secret starts itself once more without it, and takes it over through a file
that has no name.
"""

import json
import os
import sys

SECRETS = ("ROCKETCONNECT_STORE_URL", "ROCKETCONNECT_ROCKETMQ_SECRET_KEY")
"""The variables of settings that are secrets."""

_TAKEN_OVER = "ROCKETCONNECT_PRIVATE_FD"


def start_without_secrets() -> None:
    """Go on in a process of the same id whose first environment has no secret; os.environ has them then. Linux only; else nothing.

    To be called first of all, before anything was opened or started.
    """
    if (descriptor := os.environ.pop(_TAKEN_OVER, "")) != "":
        with os.fdopen(int(descriptor), encoding="utf-8") as taken_over:
            os.environ.update(json.load(taken_over))
        return
    secrets = {name: os.environ[name] for name in SECRETS if name in os.environ}
    if not secrets or sys.platform != "linux":
        return
    file = os.memfd_create("settings", 0)
    os.write(file, json.dumps(secrets).encode())
    os.lseek(file, 0, os.SEEK_SET)
    rest = {name: value for name, value in os.environ.items() if name not in secrets}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**rest, _TAKEN_OVER: str(file)})  # noqa: S606 - itself
