"""Manifests of which a store keeps the newest, and replaces it where it is still the one that was read."""

import json
import random
import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

from connectors.objects.location import Location
from rocketconnect_sdk.errors import RetriableError
from rocketconnect_sdk.targets.manifests import Manifest, Manifests, Owner

_ATTEMPTS = 20
_Version = TypeVar("_Version")


class Quicker(Exception):
    """Somebody else has written the manifest meanwhile."""


class ComparedManifests(Manifests, Generic[_Version]):
    """The newest manifest is replaced by the next one, if nobody else has replaced it meanwhile.

    Args:
        place: Where it is.
        owner: Who writes.
        asking: Turns errors of the store in a block into those of a task.
    """

    def __init__(self, place: Location, owner: Owner, asking: Callable[[Location], AbstractContextManager[None]]) -> None:
        super().__init__(place, owner, exclusive=False)
        self._asked = place
        self._asking = asking
        self._known: tuple[Manifest, _Version] | None = None
        """The newest that is known, and what a store takes for the condition that it is still there."""

    @abstractmethod
    def _read(self) -> tuple[Manifest, _Version] | None:
        """The newest; None: there is none. Raises Quicker: there is a newer one by now."""

    @abstractmethod
    def _replace(self, manifest: Manifest, known: _Version | None, data: bytes) -> _Version:
        """Makes it the newest, durably, if that is still what is known. Raises Quicker: it is not."""

    def change(self, work: Callable[[Manifest | None], Manifest]) -> Manifest:
        """See Manifests."""
        for attempt in range(_ATTEMPTS):
            try:
                with self._asking(self._asked):
                    self._known = self._known or self._read()
                    return work(self._known[0] if self._known else None)
            except Quicker:
                self._known = None
                time.sleep(random.uniform(0, 0.02 * (attempt + 1)))  # noqa: S311  # spreads those who try again
            except BaseException:
                # What was to be written may have been, though the answer did not come.
                self._known = None
                raise
        msg = f"{self._place}: other tasks write the manifest all the time"
        raise RetriableError(msg)

    def _write(self, manifest: Manifest) -> None:
        data = json.dumps(manifest.to_json(), separators=(",", ":")).encode()
        self._known = manifest, self._replace(manifest, self._known[1] if self._known else None, data)
