"""What an operating system error means to a task."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway

_FULL = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the disk quota is used up", errno.EFBIG: "the file may not grow any more"}
_WRONG = {
    errno.EACCES: "give the worker's user the right to write there",
    errno.EPERM: "give the worker's user the right to write there",
    errno.EROFS: "the file system is mounted read-only",
    errno.ENOENT: "create the directory",
    errno.ENOTDIR: "a part of the path is not a directory",
    errno.EISDIR: "it is a directory; name a file",
    errno.ENAMETOOLONG: "choose a shorter name",
}


@contextmanager
def understood(path: object) -> Iterator[None]:
    """Turns an OSError of the block into what the task does about it.

    Raises:
        SystemAway: there is no room; the task waits until there is.
        PermanentError: somebody must change something.
        RetriableError: anything else.
    """
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        if number in _FULL:
            msg = f"{path}: {_FULL[number]}; nothing of the batch was kept. Make room: it goes on by itself"
            raise SystemAway(msg, wait=1.0) from error
        if number in _WRONG:
            msg = f"{path}: {os.strerror(number)}; {_WRONG[number]}"
            raise PermanentError(msg) from error
        msg = f"{path}: {error}"
        raise RetriableError(msg) from error
