"""The process that forks hosts: `python -m services.executor.host.forks SOCKET_FD EXECUTOR_PID`. Only the executor starts it."""

import gc
import os
import socket
import sys
import time
from typing import NoReturn

from services.executor.contract.messages import Exit
from services.executor.host.__main__ import run
from services.executor.host.parent import end_with_parent, ignore_signals

_DESCRIPTORS = 2


def main() -> None:
    """Make a host of each request: the folder of its temporary files, and with it the ends of its socket and of its output.

    The answer is its process id, or why there is none.
    """
    descriptor, executor = (int(argument) for argument in sys.argv[1:])
    end_with_parent(executor)
    ignore_signals()
    requests = socket.socket(fileno=descriptor)
    requests.set_inheritable(False)
    # What the copies share is not to be looked through, and so copied, by each of them.
    gc.collect()
    gc.freeze()
    requests.send(b"1")
    while True:
        scratch, descriptors, _flags, _address = socket.recv_fds(requests, 1 << 16, _DESCRIPTORS)
        if not scratch:
            return
        try:
            first = os.fork()
        except OSError as error:
            requests.send(str(error).encode())
        else:
            if not first:
                _fork_again(requests, os.fsdecode(scratch), descriptors, executor)
            os.waitpid(first, 0)
        for each in descriptors:
            os.close(each)


def _fork_again(requests: socket.socket, scratch: str, descriptors: list[int], executor: int) -> NoReturn:
    first = os.getpid()
    try:
        second = os.fork()
    except OSError as error:
        requests.send(str(error).encode())
        os._exit(1)
    if second:
        os._exit(0)
    try:
        # The executor has to be the parent before it is told.
        while (parent := os.getppid()) == first:
            time.sleep(0.0001)
        if parent != executor:
            os._exit(Exit.PARENT_GONE)
        os.setsid()
        connection, output = descriptors
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        # Those of the one that forks know what they wrote to.
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        os.environ["TMPDIR"] = scratch
        requests.send(str(os.getpid()).encode())
        requests.close()
        run(connection, executor)
    finally:
        # Not by returning, into the loop of the one that forks.
        os._exit(1)


if __name__ == "__main__":
    main()
