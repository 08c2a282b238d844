"""What is told of an answer that is not what it should be."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rocketmq_remoting.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterator

_FAULTS = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)


@contextmanager
def reading(of: str) -> Iterator[None]:
    """Within it an answer is read. Raises ProtocolError: something is not there, or not of its kind."""
    try:
        yield
    except _FAULTS as error:
        msg = f"{of}: the answer lacks or garbles {error}"
        raise ProtocolError(msg) from error
