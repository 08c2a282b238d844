"""What an operating system error means to a task."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway

FOR_NOW = {
    errno.ENOSPC: "the disk is full; make room",
    errno.EDQUOT: "the disk quota is used up; make room",
    errno.EFBIG: "the file may not grow any more; make room",
    # Linux makes a file system so when its disk has errors, and whoever repairs it mounts it anew.
    errno.EROFS: "the file system is read-only; mount it so that it can be written",
}
"""By number what passes when somebody mends it, and what that is."""
_WRONG = {
    errno.EACCES: "give the worker's user the right to write there",
    errno.EPERM: "give the worker's user the right to write there",
    errno.ENOENT: "create the directory",
    errno.ENOTDIR: "a part of the path is not a directory",
    errno.EISDIR: "it is a directory; name a file",
    errno.ENAMETOOLONG: "choose a shorter name",
}


@contextmanager
def understood(path: object) -> Iterator[None]:
    """Turns an OSError of the block into what the task does about it.

    Raises:
        SystemAway: there is no room, or nothing can be written; the task waits until that is over.
        PermanentError: somebody must change something.
        RetriableError: anything else.
    """
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        if number in FOR_NOW:
            msg = f"{path}: {FOR_NOW[number]}, and it goes on by itself. Nothing of the batch was kept"
            raise SystemAway(msg, wait=1.0) from error
        if number in _WRONG:
            msg = f"{path}: {os.strerror(number)}; {_WRONG[number]}"
            raise PermanentError(msg) from error
        msg = f"{path}: {error}"
        raise RetriableError(msg) from error
