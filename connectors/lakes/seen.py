"""Whether Spark's workers on other machines write where this process reads."""

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from connectors.file_sink.jobs import STAGED, parts_of, staged_job, uri
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.permissions.roots import writing
from rocketconnect_sdk.wording.counts import counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHOWN_SECONDS = 5.0
"""So long a shared file system may take to show what another machine has written."""
_NO_PLACE = re.compile(
    r"(Mkdirs failed|Permission denied|Read-only file system|(FileNotFound|NoSuchFile|AccessDenied|AccessControl)Exception).*"
)
# Of Java's own, so that workers need no Python: the process, and the machine, where that has a name.
_WHO = "concat_ws('@', reflect('java.lang.ProcessHandle', 'current'), try_reflect('java.net.InetAddress', 'getLocalHost'))"


class Seen:
    """Asks each process of Spark's workers once. Used by one thread."""

    def __init__(self) -> None:
        self._asked: frozenset[str] = frozenset()

    def check(self, session: "SparkSession", folder: Path) -> None:
        """Invariant 5: has workers that are new write files, and looks for these.

        It costs a job where there are any, else next to nothing. One whose cores are all at other work is asked with the next call.

        Args:
            session: Of Spark; where it runs on this machine, there is nothing to ask.
            folder: Where they are to write; what they write is removed again.

        Raises:
            PermanentError: this process does not see what they wrote, or they cannot write there.
            OSError, SystemAway: as the folder is.
        """
        if str(session.sparkContext.master).startswith("local"):
            return
        there = _processes(session)
        if there and there <= self._asked:
            return
        answered = _answered(session, folder)
        there = _processes(session)
        if answered >= len(there):
            self._asked = there


def unseen(place: Path, master: str, reason: str) -> PermanentError:
    """The error that Spark's workers write elsewhere."""
    fix = "Name such a directory, or set spark.profile to one with spark.master=local[*], and restart the task"
    return PermanentError(
        f"{place}: Spark's workers (spark.master={master}) do not write where this process reads: {reason}. The table must be in a "
        f"file system that all workers and the driver share, mounted at the same path. {fix}"
    )


def _processes(session: "SparkSession") -> frozenset[str]:
    """The ids of those that work for this driver; one that is started again has another one."""
    context: Any = session.sparkContext._jsc  # noqa: SLF001  # the way to Java
    return frozenset(filter(None, str(context.sc().getExecutorIds().mkString(",")).split(",")))


def _answered(session: "SparkSession", folder: Path) -> int:
    """How many processes have written what this one sees. Raises: as Seen.check."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    master = str(session.sparkContext.master)
    # More than there are cores: then each process that has a free one gets something to do.
    count = 2 * session.sparkContext.defaultParallelism
    place = folder / f"rocketconnect-seen-{uuid4()}"
    try:
        with staged_job(folder):
            session.range(0, count, 1, count).selectExpr(f"{_WHO} AS value").write.options(**STAGED).text(uri(place))
        found = _written(place, count)
    except (Py4JError, PySparkException) as error:
        if reason := _NO_PLACE.search(str(error)):
            raise unseen(folder, master, reason[0][:300]) from error
        raise
    finally:
        writing().remove_folder(place)
    if len(found) != count:
        raise unseen(folder, master, f"of {counted(count, 'file')} that they wrote, it sees {len(found)}")
    return len(set(found))


def _written(place: Path, count: int) -> list[str]:
    until = time.monotonic() + _SHOWN_SECONDS
    while len(parts := parts_of(place)) < count and time.monotonic() < until:
        time.sleep(0.1)
    return [part.read_text(encoding="utf-8") for part in parts]
