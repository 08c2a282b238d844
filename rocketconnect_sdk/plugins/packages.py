"""Packages that a plugin needs beside those that executors have."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import ClassVar


class NeedsPackages:
    """A plugin that needs packages: of RocketConnect's own they come with an extra of its wheel.

    Class attributes:
        extra: That extra; empty: none has them, as for a plugin of another package.
        packages: The packages, as they are imported.
    """

    name: ClassVar[str]
    extra: ClassVar[str] = ""
    packages: ClassVar[Sequence[str]] = ()

    @property
    def lacks(self) -> str:
        """Which of them are not here, in words; empty: all are."""
        lacking = [name for name in self.packages if find_spec(name) is None]
        return f"needs {' and '.join(lacking)}, which this executor does not have" if lacking else ""

    @property
    def packages_fix(self) -> str:
        """How they are installed."""
        if not self.extra:
            return "Install it where the executors run, into their environment"
        return f"Install it where the executors run: pip install 'rocketconnect[{self.extra}]'"
