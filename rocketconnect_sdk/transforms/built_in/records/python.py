"""python: a function of the user."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.transforms.base import Record, Transform
from rocketconnect_sdk.transforms.processes.function import FunctionProcess, load


class PythonFunction(Transform):
    """Calls a function of a module that is installed on the workers: it takes a Record and returns one, or None.

    It runs in a process of its own. A record at which it raises, does not end in time, or ends its process is a bad one.
    """

    name: ClassVar[str] = "python"
    options: ClassVar[Sequence[Option]] = (
        Option(
            "function",
            "MODULE:FUNCTION. It takes a Record and returns it changed, another one, or None to drop it.",
            required=True,
            example="copy:copy",
        ),
        Option("timeout", "How long it may take for one record.", Kind.DURATION, "10s", minimum=0.05),
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._process = FunctionProcess(config["function"], config["timeout"])

    @classmethod
    def check(cls, config: Config) -> Iterable[Problem]:
        """See Transform."""
        try:
            load(config["function"])
        except ValueError as error:
            fix = "Install the package that has it on all workers, and write MODULE:FUNCTION, such as weather.clean:drop_tests."
            yield Problem("function", config["function"], str(error), fix)

    def apply(self, record: Record) -> Record | None:
        """See Transform."""
        (done,) = self._process.call([record])
        if isinstance(done, Exception):
            raise done
        return done

    def apply_each(self, records: Sequence[Record]) -> Sequence[Record | Exception | None]:
        """See Transform."""
        return self._process.call(records)

    def close(self) -> None:
        """See Transform."""
        self._process.close()
