"""Runs something in a process of its own and kills it at one of its steps."""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_CALLS = (
    "os:copy_file_range",
    "os:fsync",
    "os:ftruncate",
    "os:link",
    "os:mkdir",
    "os:open",
    "os:pwrite",
    "os:rename",
    "os:replace",
    "os:rmdir",
    "os:sendfile",
    "os:unlink",
    "os:write",
)
_WRITES = ("os:pwrite", "os:write")


class ChildFailed(AssertionError):
    """What was to run in a process of its own raised an error there."""


def run_and_kill(work: Callable[[], None], step: int, more: tuple[str, ...] = ()) -> bool:
    """Runs `work` in a forked process, and kills that with SIGKILL at the step-th call that changes something.

    Steps are the calls of the functions above, as seen by Python code, and those in `more` ("module:function"): the process dies
    before the call; where it is a write, in the middle of it.

    Returns: whether it was killed; false: it came to its end before.

    Raises:
        ChildFailed: it raised an error.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _arm(step, (*_CALLS, *more))
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) != signal.SIGKILL:
            msg = f"killed by signal {os.WTERMSIG(status)}"
            raise ChildFailed(msg)
        return True
    if os.WEXITSTATUS(status):
        msg = "the process that was to be killed failed instead; see its traceback above"
        raise ChildFailed(msg)
    return False


def said_before_death(work: Callable[[], Mapping[str, int]]) -> dict[str, int]:
    """Runs `work` in a forked process that is killed with SIGKILL as soon as it has said this.

    Raises:
        ChildFailed: it raised an error.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, json.dumps(dict(work())).encode() + b"\n")
            os.kill(os.getpid(), signal.SIGKILL)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(1)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.readline()
    os.waitpid(child, 0)
    if not said:
        msg = "the process that was to be killed failed instead; see its traceback above"
        raise ChildFailed(msg)
    return dict(json.loads(said))


def _arm(step: int, calls: tuple[str, ...]) -> None:
    left = step

    def dying(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                if name in _WRITES:
                    call(args[0], bytes(args[1])[: len(args[1]) // 2], *args[2:])
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return counted

    for name in calls:
        module, _, function = name.partition(":")
        home = import_module(module)
        setattr(home, function, dying(name, getattr(home, function)))
