"""What a connector raises, grouped by what the runtime does about it.

    ConnectorError
    ├── ConfigError         the configuration is wrong; carries every problem at once; never retried
    ├── RetriableError      try the same again after a backoff (a busy or restarting system)
    ├── SystemAway          the other side does not answer: the task is WAITING, and tried again without a limit
    ├── PermanentError      trying again cannot help (missing table, purged log): the task is FAILED until something changes
    └── RecordError         one record is bad: the error policy decides (fail, skip, dead letter)
        └── RecordRefused   a sink refuses single records of a batch and has staged the others

Anything else that leaves a connector is a defect of it: the task fails, is restarted with a backoff, and in the end stays FAILED.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from rocketconnect_sdk.wording.counts import counted


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a configuration.

    Attributes:
        key: The option; empty for the configuration as a whole.
        value: What was given; never the value of a secret.
        reason: What is wrong with it.
        fix: What to do.
        is_warning: It is told, and refuses nothing: what follows from the configuration may not be what was meant.
        is_note: Of a warning: nothing is wrong with it, and it is told as what is to be expected.
    """

    key: str
    value: str
    reason: str
    fix: str
    is_warning: bool = False
    is_note: bool = False

    def __str__(self) -> str:
        """One line for people."""
        shown = f" (given: {self.value!r})" if self.value else ""
        return f"{self.key or 'configuration'}: {self.reason}{shown}. {self.fix}"


class ConnectorError(Exception):
    """The root: everything that a connector raises on purpose.

    Attributes:
        option: Of the configuration, which is wrong; empty: it is not known which.
    """

    option: str = ""

    def naming(self, option: str) -> Self:
        """The same, which says which option is wrong."""
        self.option = option
        return self


class ConfigError(ConnectorError):
    """The configuration is wrong. Carries all problems at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class RetriableError(ConnectorError):
    """The same call may succeed later; the runtime repeats it with a backoff, up to its limit.

    Attributes:
        wait: After how many seconds it is worth while to try again; None: the runtime's own backoff.
    """

    def __init__(self, message: str, *, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class SystemAway(ConnectorError):
    """The other side does not answer. The runtime says WAITING and goes on trying: there is nothing better to do.

    Attributes:
        wait: After how many seconds it is worth while to try again; None: the runtime's own backoff.
    """

    def __init__(self, message: str, *, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class PermanentError(ConnectorError):
    """Trying again cannot help. The task is FAILED until its configuration changes or a restart is asked for."""


class RecordError(ConnectorError):
    """One record cannot be converted, transformed or written; the others can."""


class RecordRefused(RecordError):
    """A sink writer could not write some records of a batch; all others were staged.

    Attributes:
        refused: By index into the batch: what is wrong with that record.
        receipt: The receipt of those that were staged.
    """

    def __init__(self, refused: Mapping[int, str], receipt: object) -> None:
        first = next(iter(refused.values()), "")
        super().__init__(first if len(refused) == 1 else f"{counted(refused, 'record')} refused; the first: {first}")
        self.refused = dict(refused)
        self.receipt = receipt
