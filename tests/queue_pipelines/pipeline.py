"""What a run needs of a pipeline: its servers, its connectors, a load, who is killed, and what has to be there in the end."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import ClassVar, Protocol

TOPIC = "queue-pipeline"
"""Of RocketMQ."""
JSON = {"value.converter": "json", "value.converter.schemas.enable": "false"}
"""Values are JSON without a schema."""
EXECUTOR, BROKER, TASK = "executor", "broker", "native-host"
"""What is killed of an instance: an executor that runs a task, RocketMQ's broker, the process of a task."""

Feed = Callable[[int], bool]
"""Hands the event with a number over; whether it is done with: otherwise it is handed over again."""


class Restartable(Protocol):
    """A server that keeps its data."""

    def restart(self) -> None:
        """Kill it with SIGKILL, and start it again."""


class Pipeline(ABC):
    """A pipeline with its servers.

    Args:
        folder: For files.

    Attributes:
        servers: Those that are killed, by their names in `kills`. Known from `start` on.

    Class attributes:
        kills: Who is killed, in this order.
        at_rest: Whom of these it hits just after something has arrived.
        feeders: How many feed side by side.
    """

    kills: ClassVar[Sequence[str]]
    at_rest: ClassVar[frozenset[str]] = frozenset()
    feeders: ClassVar[int] = 1

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.servers: dict[str, Restartable] = {}

    @abstractmethod
    def start(self, stack: ExitStack) -> None:
        """Starts its servers, which end with the stack. For the main thread."""

    def attach(self, stack: ExitStack, name_server: str) -> None:  # noqa: B027 - most have nobody there
        """Starts who else uses the RocketMQ of the instance, which runs by now."""

    @abstractmethod
    def connectors(self) -> Mapping[str, Mapping[str, str]]:
        """The configurations, by name."""

    @abstractmethod
    def feeder(self) -> AbstractContextManager[Feed]:
        """What feeds, for one thread that enters and leaves it."""

    @abstractmethod
    def arrived(self) -> Set[int]:
        """The numbers of what has arrived."""

    def due(self, given: int) -> Set[int]:
        """The numbers of what has to arrive of so many events."""
        return set(range(given))

    @abstractmethod
    def compare(self, given: int) -> str:
        """Compares what has arrived with what was given, event by event; gives what was found, for people.

        Raises:
            Difference
        """
