"""A prefix of a bucket as a store: staged objects are copied by the server, and the manifest is compared and set by its ETag."""

import json
import random
import time
from collections.abc import Callable, Iterable
from typing import Any

import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import S3Store

from connectors.object_store_sink.store import HIDDEN, STAGED, Store
from connectors.objects.place import Login, Place
from connectors.objects.remote import asking, connect, says_no_bucket
from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.targets.manifests import Manifest, Manifests, Owner, manifest_from_json

_MANIFEST = f"{HIDDEN}/manifest.json"
_PROBE = f"{HIDDEN}/probe"
_ATTEMPTS = 20
IGNORES = "the store ignores If-Match, so that of two owners of a task both would write"
IGNORES_FIX = "Use a store with conditional writes, such as Amazon S3, MinIO or Cloudflare R2"
_NO_TAG = '"00000000000000000000000000000000"'
"""The ETag of no object that there is."""


class _Quicker(Exception):
    """Somebody else has written the manifest meanwhile."""


class BucketStore(Store):
    """Objects of a server that speaks S3.

    Args:
        place: The bucket and the prefix.
        login: Its server.
        owner: Who writes.
    """

    def __init__(self, place: Place, login: Login, owner: Owner) -> None:
        self._place = place
        self._remote = connect(place, login)
        self.manifests = _ObjectManifests(place, self._remote, owner)

    @property
    def is_used(self) -> bool:
        """See Store."""
        return True

    def prepare(self) -> None:
        """See Store. Invariant 3 stands on conditional writes."""
        if ignores_conditions(self._remote, self._place):
            msg = f"{self._place}: {IGNORES}. {IGNORES_FIX}"
            raise PermanentError(msg)

    def stage(self, name: str, data: memoryview) -> None:
        """See Store."""
        with asking(self._place):
            obstore.put(self._remote, f"{STAGED}/{name}", data)

    def publish(self, staged: str, name: str) -> bool:
        """See Store. A copy of the same object to the same name changes nothing, whoever makes it, and however late."""
        source = f"{STAGED}/{staged}"
        with asking(self._place):
            try:
                obstore.copy(self._remote, source, name)
            except FileNotFoundError as error:
                if says_no_bucket(error):
                    raise
                return self._is_there(name)
            obstore.delete(self._remote, [source])
        return True

    def _is_there(self, name: str) -> bool:
        try:
            obstore.head(self._remote, name)
        except FileNotFoundError:
            return False
        return True

    def staged(self) -> Iterable[str]:
        """See Store."""
        with asking(self._place):
            found = [each["path"] for chunk in obstore.list(self._remote, STAGED) for each in chunk]
        return [path.rpartition("/")[2] for path in found]

    def discard(self, staged: Iterable[str]) -> None:
        """See Store."""
        paths = [f"{STAGED}/{name}" for name in staged]
        if paths:
            with asking(self._place):
                obstore.delete(self._remote, paths)


class _ObjectManifests(Manifests):
    """One object that is replaced by the next manifest, if nobody else has replaced it meanwhile."""

    def __init__(self, place: Place, remote: S3Store, owner: Owner) -> None:
        super().__init__(place, owner, exclusive=False)
        self._asked = place
        self._remote = remote
        self._known: tuple[Manifest, str] | None = None
        """The newest that is known, and its ETag."""

    def change(self, work: Callable[[Manifest | None], Manifest]) -> Manifest:
        """See Manifests."""
        for attempt in range(_ATTEMPTS):
            try:
                with asking(self._asked):
                    self._known = self._known or self._read()
                    return work(self._known[0] if self._known else None)
            except _Quicker:
                self._known = None
                time.sleep(random.uniform(0, 0.02 * (attempt + 1)))  # noqa: S311  # spreads those who try again
            except BaseException:
                # What was to be written may have been, though the answer did not come.
                self._known = None
                raise
        msg = f"{self._place}: other tasks write the manifest all the time"
        raise RetriableError(msg)

    def _read(self) -> tuple[Manifest, str] | None:
        try:
            got = obstore.get(self._remote, _MANIFEST)
            return manifest_from_json(json.loads(bytes(got.bytes()))), got.meta["e_tag"] or ""
        except FileNotFoundError as error:
            if says_no_bucket(error):
                raise
            return None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            msg = f"{self._place}: {_MANIFEST} is no manifest of this sink. Name another prefix, or restore the object"
            raise PermanentError(msg) from error

    def _write(self, manifest: Manifest) -> None:
        data = json.dumps(manifest.to_json(), separators=(",", ":")).encode()
        mode: Any = {"e_tag": self._known[1]} if self._known else "create"
        try:
            put = obstore.put(self._remote, _MANIFEST, data, mode=mode, use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            raise _Quicker from None
        self._known = manifest, put["e_tag"] or ""


def ignores_conditions(remote: S3Store, place: Place) -> bool:
    """Whether the store takes a write whose condition does not hold. Changes nothing where it does not."""
    with asking(place):
        try:
            obstore.put(remote, _PROBE, b"", mode={"e_tag": _NO_TAG}, use_multipart=False)
        except PreconditionError:
            return False
        obstore.delete(remote, [_PROBE])
    return True
