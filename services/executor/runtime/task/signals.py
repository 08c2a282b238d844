"""What people tell a running task."""

import traceback

from rocketconnect_sdk.errors import ConnectorError
from rocketconnect_sdk.source import SourceTask
from services.executor.runtime.task.control import TaskControl
from services.executor.runtime.task.reporter import Reporter


def answer_signals(control: TaskControl, task: SourceTask, reporter: Reporter) -> None:
    """Lets the task answer the signals that have come. For the task's own thread, between polls; whatever it says, it goes on."""
    for asked in control.asked():
        what = " ".join([f"signal {asked.name}", *(f"{key}={value}" for key, value in asked.arguments.items())])
        text = trouble = ""
        try:
            text = task.signal(asked.name, asked.arguments)
        except (ConnectorError, ValueError) as error:
            trouble = str(error)
        except Exception:
            trouble = f"a defect of the connector: {traceback.format_exc()}"
        reporter.log("WARNING" if trouble else "INFO", f"{what}: {trouble or text}")
        asked.answer(text, trouble)
