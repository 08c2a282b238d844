"""A transform and a predicate."""

from pathlib import Path

from rocketconnect_sdk import Option
from rocketconnect_sdk.transforms import Predicate, Record, Transform

from . import __version__


class Signed(Transform):
    """Puts its version behind a text; while a file is there, that of a module which it imports only then, too."""

    name = "signed"
    options = (Option("late", "The file.", default=""),)

    def apply(self, record: Record) -> Record:
        late = ""
        if self.config["late"] and Path(self.config["late"]).exists():
            from .late import LATE

            late = f" late {LATE}"
        record.value = f"{record.value} signed {__version__}{late}"
        return record


class Even(Predicate):
    """Chooses texts that end in an even number."""

    name = "even"

    def test(self, record: Record) -> bool:
        return int(str(record.value).split()[-1]) % 2 == 0
