"""The end of an executor that is broken."""

import os
from typing import NoReturn

from rocketconnect_kit.logs import get_logger

_DEFECT = 70

_log = get_logger(__name__)


def end_broken(error: BaseException) -> NoReturn:
    """End the process at once, and with it its hosts (invariant 3): whoever started it starts it again.

    A worker in which something that nobody foresaw has happened may not know any more what it runs.
    """
    _log.critical("a defect of the executor: it ends, to be started again", exc_info=error)
    os._exit(_DEFECT)
