"""What is wrong with a store, as far as it can be seen before a task runs."""

from collections.abc import Iterator

import obstore
from obstore.exceptions import BaseError

from connectors.objects.faults import Fault, fault_of, fix_of
from connectors.objects.location import Location
from connectors.objects.logins import Login, S3Login
from connectors.objects.remote import Remote, connect
from rocketconnect_sdk.errors import Problem

SECONDS = 3
"""Of a request, for people who wait."""


def quick(place: Location, login: Login) -> Remote:
    """The objects below a prefix, with time limits for people who wait."""
    return connect(place, login, seconds=SECONDS, retries=1)


def reach_problems(place: Location, login: Login, remote: Remote, below: str) -> Iterator[Problem]:
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
        fault, said = fault_of(error, place)
    else:
        return
    key, value = _option(fault, place, login)
    fix = fix_of(fault, place.kind)
    fix = fix or ("Start it, or set endpoint to the URL of the server" if fault is Fault.AWAY else "See its log")
    reason = f"the store at {login.url(place.bucket)} {fault.value} ({said})"
    yield Problem(key, value, reason, f"{fix}.", is_warning=fault in (Fault.AWAY, Fault.BUSY))


def _option(fault: Fault, place: Location, login: Login) -> tuple[str, str]:
    """The option that an error is about, and its value."""
    if fault in (Fault.NO_BUCKET, Fault.NO_CONTAINER):
        return "url", str(place)
    if fault in (Fault.KEYS, Fault.DENIED):
        return login.who
    if fault is Fault.REGION and isinstance(login, S3Login):
        return "region", login.region
    return "endpoint", login.endpoint
