"""A Python function of a user, in a process of its own: it may raise, crash or never end, and costs one record.

The process is rocketconnect_sdk.transforms.processes.function_main. Over a socket it gets Orders, and answers each with lists of
Answers: one for each record, in their order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module

from rocketconnect_sdk.errors import PermanentError, RecordError, RetriableError, SystemAway
from rocketconnect_sdk.transforms.base import Record
from rocketconnect_sdk.transforms.processes.child import Child

Function = Callable[[Record], object]

_MAIN = "rocketconnect_sdk.transforms.processes.function_main"

BETWEEN_SECONDS = 0.02
"""Answers are kept for so long, to be sent together."""

_AWAY = {each.__name__: each for each in (SystemAway, RetriableError)}


@dataclass(frozen=True, slots=True)
class Order:
    """Records to change. Careful: each answer is sent at once, so that it is known at which record the process ended."""

    records: Sequence[Record]
    careful: bool


@dataclass(frozen=True, slots=True)
class Failed:
    """An exception: the name of its class, its text, and where in the user's code it was raised. `wait`: see SystemAway."""

    name: str
    text: str
    where: str
    wait: float | None = None


Answer = Record | Failed | None


def load(function: str) -> Function:
    """The function of "module:function".

    Raises:
        ValueError: there is none; the text says why.
    """
    module, colon, name = function.partition(":")
    if not (module and colon and name):
        msg = "is not MODULE:FUNCTION"
        raise ValueError(msg)
    try:
        found: object = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:
        msg = f"could not be loaded: {type(error).__name__}: {error}"
        raise ValueError(msg) from error
    if not callable(found):
        msg = f"is no function, but {type(found).__name__}"
        raise ValueError(msg)  # noqa: TRY004 - of the option, whose value is wrong
    return found


class FunctionProcess:
    """Calls a function in a process, which is begun when it is needed, and anew when it had to be ended.

    Used by one thread at a time.

    Args:
        function: "module:function", which takes a Record and returns one, or None to drop it.
        seconds: How long it may take for a record.
    """

    def __init__(self, function: str, seconds: float) -> None:
        self._seconds = seconds
        self._child = Child(_MAIN, function, f"the function {function}")

    def call(self, records: Sequence[Record]) -> list[Record | Exception | None]:
        """Of each record what the function gives, or the RecordError that says why it gave nothing.

        Raises:
            SystemAway, RetriableError: the function has raised it; all of them again later.
            PermanentError: the function has raised it, or could not be loaded.
        """
        done: list[Record | Exception | None] = []
        careful = False
        while len(done) < len(records):
            why = self._some(records[len(done) :], done, careful=careful)
            if why is None:
                continue
            self.close()
            if careful:
                done.append(why)
            # What was done and not told is lost: once more, so that it shows at which record it ended.
            careful = not careful
        return done

    def close(self) -> None:
        """Ends the process."""
        self._child.end()

    def _some(self, records: Sequence[Record], done: list[Record | Exception | None], *, careful: bool) -> RecordError | None:
        """Adds what is told of them; returns why no more is."""
        socket = self._child.socket
        plain = [replace(record, headers=dict(record.headers)) for record in records]
        told = 0
        try:
            socket.send(Order(plain, careful))
            while told < len(records):
                if not socket.poll(self._seconds + 10 * BETWEEN_SECONDS):
                    return RecordError(f"the function has not ended after {self._seconds:g} s (the option timeout)")
                answers: list[Answer] = socket.recv()
                done += [_raised(answer) if isinstance(answer, Failed) else answer for answer in answers]
                told += len(answers)
        except (EOFError, OSError):
            return RecordError("the function has ended its process")
        return None


def _raised(failed: Failed) -> Exception:
    """What a function has raised, as an error of this process. Raises it when it is beyond one record."""
    text = f"{failed.text} ({failed.where})" if failed.where else failed.text
    if failed.name == PermanentError.__name__:
        raise PermanentError(text)
    if away := _AWAY.get(failed.name):
        raise away(text, wait=failed.wait)
    # Dead letters say the name of its class.
    kind: type[Exception] = type(failed.name, (RecordError,), {})
    return kind(text)
