"""Runs something in a process of its own and kills it at one of its steps."""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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
    with _released_by_java():
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


@contextmanager
def _released_by_java() -> Iterator[None]:
    """What Spark's Java holds for a process that is forked and killed within the block: the process itself releases it no more.

    Each object that it was given stays there with all that belongs to it, such as the states of a table; some tens of killed
    processes fill the memory of Java.
    """
    pyspark = sys.modules.get("pyspark")
    gateway = None if pyspark is None else pyspark.SparkContext._gateway  # noqa: SLF001  # the only place where it is
    if gateway is None:
        yield
        return
    before = _newest(gateway)
    yield
    for number in range(before + 1, _newest(gateway)):
        gateway._gateway_client.garbage_collect_object(f"o{number}")  # noqa: SLF001  # what a proxy does at its end


def _newest(gateway: Any) -> int:
    """The number of the newest object that Java holds for Python: Py4J counts them."""
    return int(gateway.jvm.java.lang.Object()._target_id.removeprefix("o"))  # noqa: SLF001  # where Py4J keeps it


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
