"""Which records of a key are the newest of their queue. Pure."""

from dataclasses import dataclass, field

from rocketconnect_sdk.letters.dead_letters import KEY_PROPERTIES, DeadLetter
from rocketconnect_sdk.topics import Message


@dataclass(slots=True)
class Newest:
    """Finds out which records of a key are the newest of their queue.

    Attributes:
        wanted: By queue, for the keys that matter the offset of the newest record that was seen.
    """

    wanted: dict[str, dict[tuple[str, str], int]] = field(default_factory=dict)

    def want(self, letter: DeadLetter) -> None:
        """From now on its key matters."""
        if letter.key is not None and (place := letter.queue_origin) is not None:
            queue, offset = place
            keys = self.wanted.setdefault(queue, {})
            keys[letter.key] = max(offset, keys.get(letter.key, 0))

    def start(self, queue: str) -> int:
        """From where the queue has to be read."""
        return min(self.wanted[queue].values())

    def saw(self, message: Message) -> None:
        """A message of one of the queues, later than those before."""
        keys = self.wanted[message.queue]
        for name in KEY_PROPERTIES:
            key = (name, message.properties.get(name, ""))
            if key in keys:
                keys[key] = max(message.offset, keys[key])

    def has_newer(self, letter: DeadLetter) -> bool:
        """Whether a newer record of its key is there; true also where a letter with a key does not say where it was."""
        if letter.key is None:
            return False
        place = letter.queue_origin
        return place is None or self.wanted[place[0]][letter.key] > place[1]
