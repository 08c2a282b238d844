"""Changes of rows that a log does not have: told with the way back, and not once for each."""

import time
from collections.abc import Callable
from logging import Logger

_SECONDS = 60.0
_FIX = "Targets may have other rows than the table: send again what differs with `rocketconnect verify %s --repair`"
_FIX_OF_ONE = ", or read the table again with `rocketconnect connector signal %s execute-snapshot tables=%s`"
ANY = "*"
"""In the place of the name of a table, or of its last part: several."""


class Unseen:
    """Warns of tables whose rows are others than the rows of the log say. Used by one thread.

    Of the same table and the same kind of change it warns at once, and then once a minute, with how often it was.

    Args:
        log: Where; warnings are in the status of the task, too.
        connector: Its name.
        clock: Seconds.
    """

    def __init__(self, log: Logger, connector: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._connector = connector
        self._clock = clock
        self._told: dict[tuple[str, str], float] = {}
        self._held: dict[tuple[str, str], tuple[int, str]] = {}

    def tell(self, table: str, what: str, where: str) -> None:
        """Rows changed.

        Args:
            table: Of which table; see ANY.
            what: By what kind of statement.
            where: At which place of the log; empty: nobody knows.
        """
        count, _ = self._held.pop((table, what), (0, ""))
        self._held[table, what] = (count + 1, where)
        self.flush()

    def flush(self) -> None:
        """Warns of what was held back for a minute."""
        moment = self._clock()
        self._told = {told: at for told, at in self._told.items() if moment - at < _SECONDS}
        for told, (count, where) in list(self._held.items()):
            if told in self._told:
                continue
            self._told[told] = moment
            del self._held[told]
            table, what = told
            times = f", and {count - 1} times before" if count > 1 else ""
            fix = _FIX % self._connector + ("" if table.endswith(ANY) else _FIX_OF_ONE % (self._connector, table))
            place = f", {where}" if where else ""
            self._log.warning("%s: %s%s%s: the log does not tell which rows that changed. %s", table, what, place, times, fix)
