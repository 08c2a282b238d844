"""Bodies of messages that are stored beside the topic (`rocketconnect_sdk.claim_check`), in a bucket or a folder."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from connectors.objects.location import AZURE, FOLDER, GOOGLE, S3, Location, url_problem
from connectors.objects.logins import Login
from connectors.objects.options import login_of, login_problems, place_of
from rocketconnect_sdk.claim_check.bodies import Bodies, FolderBodies
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.permissions.roots import reading, writing

_KINDS = (FOLDER, S3, GOOGLE, AZURE)
_WHOLE_SECONDS = 300
"""Of a request that carries a whole body."""


class BucketBodies(Bodies):
    """Objects of a bucket, or of a container of Azure.

    Args:
        place: The bucket and the prefix.
        login: Its server.
    """

    def __init__(self, place: Location, login: Login) -> None:
        from connectors.objects.remote import connect

        self._place = place
        self._remote = connect(place, login, seconds=_WHOLE_SECONDS)

    def put(self, name: str, body: bytes) -> None:
        """See Bodies."""
        import obstore

        from connectors.objects.remote import asking

        with asking(self._place):
            obstore.put(self._remote, name, body)

    def get(self, name: str, size: int) -> bytes | None:
        """See Bodies."""
        import obstore

        from connectors.objects.remote import asking, says_no_bucket

        with asking(self._place):
            try:
                found = obstore.get(self._remote, name)
                # Whoever may write to the store may have put anything there.
                return bytes(found.bytes()) if found.meta["size"] <= size else b""
            except FileNotFoundError as error:
                if says_no_bucket(error):
                    raise
                return None

    def expire(self, uid: str, before: float) -> int:
        """See Bodies."""
        import obstore

        from connectors.objects.remote import asking
        from connectors.objects.removing import remove

        limit, removed = datetime.fromtimestamp(before, UTC), 0
        with asking(self._place):
            for chunk in obstore.list(self._remote, uid):
                old = [each["path"] for each in chunk if each["last_modified"] < limit]
                if old:
                    remove(self._remote, old)
                    removed += len(old)
        return removed


def bodies_of(config: Config) -> Bodies:
    """Where a configuration with url and the options of its server has them. Raises as `connect`."""
    place = place_of(config)
    return FolderBodies(Path(place.prefix)) if place.kind == FOLDER else BucketBodies(place, login_of(config))


def problems(config: Config, *, writes: bool) -> Iterable[Problem]:
    """What is wrong with such a configuration, as far as it can be seen before it runs; `writes`: it is that of a source."""
    url = config["url"]
    if (reason := url_problem(url)) or place_of(config).kind not in _KINDS:
        fix = "Write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER."
        yield Problem("url", url, reason or "is no place for bodies", fix)
        return
    place = place_of(config)
    yield from login_problems(config)
    roots = writing() if writes else reading()
    if place.kind == FOLDER and (refused := roots.problem(place.prefix)):
        yield Problem("url", url, refused, roots.fix(place.prefix))
