"""What sources want stored beside their offsets. Pure."""

from rocketconnect_sdk import resume
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import SourceBatch
from rocketconnect_sdk.source import SourceTask


def check_resume(batch: SourceBatch, task: SourceTask) -> None:
    """Refuses a batch whose map can't be stored, before anything of it is sent.

    Raises:
        PermanentError: a defect of the plugin, with what is wrong.
    """
    try:
        resume.written(batch.resume or {})
    except ValueError as error:
        where = f"{type(task).__name__}, source partition {batch.partition}"
        msg = f"{where}: the position that a batch ends at can't be stored, which is a defect of the plugin: {error}"
        raise PermanentError(msg) from error
