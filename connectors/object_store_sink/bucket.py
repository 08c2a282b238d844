"""A prefix of a bucket as a store: staged objects are copied, and the manifest is compared and set by its ETag or generation."""

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError

from connectors.object_store_sink.compared import ComparedManifests, Quicker
from connectors.object_store_sink.store import HIDDEN, STAGED, Store
from connectors.objects.location import AZURE, GOOGLE, S3, Location
from connectors.objects.logins import Login
from connectors.objects.remote import Remote, asking, connect, says_no_bucket
from connectors.objects.removing import remove
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.targets.manifests import Manifest, Owner, manifest_from_json

if TYPE_CHECKING:
    from obstore import ObjectMeta, PutResult, UpdateVersion

_MANIFEST = f"{HIDDEN}/manifest.json"
_PROBE = f"{HIDDEN}/probe"
_WHOLE_SECONDS = 300
"""Of a request that carries a whole object."""
IGNORES = "the store ignores conditions of writes (If-Match), so that of two owners of a task both would write"
IGNORES_FIX = "Use a store with conditional writes, such as Amazon S3, MinIO or Cloudflare R2"
_NONE: "UpdateVersion" = {"e_tag": '"00000000000000000000000000000000"', "version": "1"}
"""The ETag, and the generation, of no object that there is."""


class BucketStore(Store):
    """Objects of a bucket, or of a container of Azure.

    Args:
        place: The bucket and the prefix.
        login: Its server.
        owner: Who writes.
    """

    def __init__(self, place: Location, login: Login, owner: Owner) -> None:
        self._place = place
        self._remote = connect(place, login)
        self._patient = connect(place, login, seconds=_WHOLE_SECONDS) if place.kind == AZURE else self._remote
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
                self._copy(source, name)
            except FileNotFoundError as error:
                if says_no_bucket(error):
                    raise
                return self._is_there(name)
            remove(self._remote, [source])
        return True

    def _copy(self, source: str, name: str) -> None:
        """Where each writing makes another ETag, an object that is there stays: who has read it would read it again."""
        if self._place.kind == S3:
            obstore.copy(self._remote, source, name)
            return
        with suppress(AlreadyExistsError):
            if self._place.kind == GOOGLE:
                obstore.copy(self._remote, source, name, overwrite=False)
            else:
                # Copy Blob may answer before it has ended: readers would see what is not whole, and nothing could be deleted yet.
                data = obstore.get(self._patient, source).bytes()
                obstore.put(self._patient, name, data, mode="create", use_multipart=False)

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
                remove(self._remote, paths)


class _ObjectManifests(ComparedManifests["UpdateVersion"]):
    """One object that is replaced by the next manifest, if nobody else has replaced it meanwhile."""

    def __init__(self, place: Location, remote: Remote, owner: Owner) -> None:
        super().__init__(place, owner, asking)
        self._remote = remote

    def _read(self) -> "tuple[Manifest, UpdateVersion] | None":
        try:
            got = obstore.get(self._remote, _MANIFEST)
            return manifest_from_json(json.loads(bytes(got.bytes()))), _version(got.meta)
        except FileNotFoundError as error:
            if says_no_bucket(error):
                raise
            return None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            msg = f"{self._place}: {_MANIFEST} is no manifest of this sink. Name another prefix, or restore the object"
            raise PermanentError(msg) from error

    def _replace(self, manifest: Manifest, known: "UpdateVersion | None", data: bytes) -> "UpdateVersion":
        del manifest
        try:
            put = obstore.put(self._remote, _MANIFEST, data, mode=known or "create", use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            raise Quicker from None
        return _version(put)


def ignores_conditions(remote: Remote, place: Location) -> bool:
    """Whether the store takes a write whose condition does not hold. Changes nothing where it does not."""
    with asking(place):
        try:
            obstore.put(remote, _PROBE, b"", mode=_NONE, use_multipart=False)
        except PreconditionError:
            return False
        remove(remote, [_PROBE])
    return True


def _version(answer: "PutResult | ObjectMeta") -> "UpdateVersion":
    """The ETag, which S3 and Azure compare, and the generation, which Google does."""
    found: UpdateVersion = {}
    if answer["e_tag"]:
        found["e_tag"] = answer["e_tag"]
    if answer["version"]:
        found["version"] = answer["version"]
    return found
