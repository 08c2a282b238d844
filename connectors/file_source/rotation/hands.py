"""Which partition is in the hands of which open file, and what is known to be stored of it. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from connectors.file_source.rotation.dealing import Key
from rocketconnect_sdk.record import Offset

_STORED_SECONDS = 2.0
"""Records of a new file wait for so long until it is stored which file that is; then the position service is taken to be away."""


@dataclass(slots=True)
class Hands:
    """Of one task. A partition is read in one file at a time: its offsets grow, and a sink drops what comes below.

    Before the first record of a partition is given, the partition has a position, with what tells its file from others: a
    successor that finds the file copied or packed then knows under which partition its records are in the topic.

    Attributes:
        stores: Positions are stored; in a preview they are not.
        follows: Files are followed, so that they may be copied or packed.
        clock: Seconds that only grow.
        stored: By partition the offset that is stored with what tells the file.
    """

    stores: bool
    follows: bool
    clock: Callable[[], float]
    stored: dict[str, Offset] = field(default_factory=dict)
    _in_hands: dict[str, Key] = field(default_factory=dict)
    _since: dict[str, float] = field(default_factory=dict)

    def take(self, partition: str, key: Key) -> None:
        """A file is read under a partition from now on."""
        self._in_hands[partition] = key

    def leave(self, partition: str, key: Key) -> None:
        """It is not any more."""
        if self._in_hands.get(partition) == key:
            del self._in_hands[partition]
        self._since.pop(partition, None)

    def in_other(self, partition: str, key: Key) -> bool:
        """Whether another file than this one is read under a partition."""
        return self._in_hands.get(partition, key) != key

    def commit(self, offsets: Mapping[str, Offset]) -> None:
        """So much is stored."""
        self.stored.update(offsets)

    def forget(self, partition: str) -> None:
        """Its position is not stored any more."""
        self.stored.pop(partition, None)

    def is_new(self, partition: str) -> bool:
        """Whether it has to be stored which file a partition is before a record of it is given."""
        return self.stores and self.follows and partition not in self.stored

    def must_wait(self, partition: str) -> bool:
        """Whether that is still under way."""
        now = self.clock()
        return self.is_new(partition) and now - self._since.setdefault(partition, now) < _STORED_SECONDS
