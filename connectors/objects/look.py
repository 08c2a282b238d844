"""What is wrong with a store, as far as it can be seen before a task runs."""

from collections.abc import Iterator

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from connectors.objects.faults import Fault, fault_of, fix_of
from connectors.objects.place import Login, Place
from connectors.objects.remote import connect
from rocketconnect_sdk.errors import Problem

SECONDS = 3
"""Of a request, for people who wait."""
_OPTION = {Fault.NO_BUCKET: "url", Fault.KEYS: "access.key.id", Fault.DENIED: "access.key.id", Fault.REGION: "region"}


def quick(place: Place, login: Login) -> S3Store:
    """The objects below a prefix, with time limits for people who wait."""
    return connect(place, login, seconds=SECONDS, retries=1)


def reach_problems(place: Place, login: Login, remote: S3Store, below: str) -> Iterator[Problem]:
    """Lists something. A store that does not answer now may do so later, which is a warning.

    Args:
        place: The bucket and the prefix.
        login: Its server.
        remote: Both.
        below: What is listed.
    """
    try:
        next(iter(obstore.list(remote, below or None, chunk_size=1)), None)
    except (BaseError, OSError, NotImplementedError) as error:
        fault, said = fault_of(error)
    else:
        return
    given = {"url": str(place), "access.key.id": login.key, "region": login.region}
    key = _OPTION.get(fault, "endpoint")
    fix = fix_of(fault) or ("Start it, or set endpoint to the URL of the server" if fault is Fault.AWAY else "See its log")
    reason = f"the store at {login.url(place.bucket)} {fault.value} ({said})"
    yield Problem(key, given.get(key, login.endpoint), reason, f"{fix}.", is_warning=fault in (Fault.AWAY, Fault.BUSY))
