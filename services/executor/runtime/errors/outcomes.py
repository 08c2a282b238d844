"""How errors end a task."""

import traceback

import rocketmq_remoting.errors as rocketmq
from rocketconnect_sdk.errors import ConfigError, ConnectorError, PermanentError
from services.executor.contract.task import Outcome
from services.executor.runtime.errors.attempts import GaveUp
from services.executor.runtime.errors.policy import RecordFailed

_PERMANENT = (ConfigError, PermanentError, RecordFailed, rocketmq.PermanentError)
_EXPECTED = (GaveUp, ConnectorError, rocketmq.RocketMQError)


def failed(error: Exception, *, clean: bool) -> Outcome:
    """The outcome of a task that this error has ended."""
    if isinstance(error, _PERMANENT):
        return Outcome(clean=clean, failed=True, permanent=True, error=str(error))
    if isinstance(error, _EXPECTED):
        return Outcome(clean=clean, failed=True, error=str(error))
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    message = f"unexpected error, a defect of the connector or of RocketConnect: {type(error).__name__}: {error}{where}"
    return Outcome(clean=clean, failed=True, error=message, stack="".join(traceback.format_exception(error)))
