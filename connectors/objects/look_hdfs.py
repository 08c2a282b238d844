"""What is wrong with a folder of HDFS, as far as it can be seen before a task runs."""

import socket
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from connectors.objects.faults import Fault, fix_of
from connectors.objects.files import NotThere, Status, StoreRejected
from connectors.objects.location import HDFS, Location
from connectors.objects.logins import HdfsLogin, Login
from connectors.objects.webhdfs import WebHdfs
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.permissions.connections import HostRefused

SECONDS = 3
"""Of a request, for people who wait."""
_PORTS = {"http": 80, "https": 443}


def write_problems(place: Location, login: Login) -> Iterator[Problem]:
    """Asks whether files can be written there. Changes nothing."""
    yield from _told(place, login, _write)


def read_problems(place: Location, login: Login) -> Iterator[Problem]:
    """Asks whether there are files that can be read."""
    yield from _told(place, login, _read)


def _told(place: Location, login: Login, look: Callable[[Location, HdfsLogin], Iterator[Problem]]) -> Iterator[Problem]:
    """What somebody sees who looks. What does not answer now may do so later, which is a warning."""
    if not isinstance(login, HdfsLogin):
        msg = f"no HDFS is reached by a {type(login).__name__}"
        raise TypeError(msg)
    try:
        yield from look(place, login)
    except HostRefused as error:
        yield Problem("endpoint", login.endpoint, f"leads to a host that is not allowed: {error}", "Name a host that is allowed.")
    except StoreRejected as error:
        is_away = error.fault in (Fault.AWAY, Fault.BUSY)
        key, value = login.who if error.fault in (Fault.KEYS, Fault.DENIED) else ("endpoint", login.endpoint)
        fix = fix_of(error.fault, HDFS) or (
            "Start it, or set endpoint to the HTTP address of the NameNode" if is_away else "See its log"
        )
        reason = f"HDFS at {login.url(place.bucket)} {error.fault.value} ({error.said})"
        yield Problem(key, value, reason, f"{fix}.", is_warning=is_away or error.fault is Fault.FULL)


def _write(place: Location, login: HdfsLogin) -> Iterator[Problem]:
    above, found = _nearest(place, login)
    if found is not None and not found.is_folder:
        yield Problem("url", str(place), "is a file, or is in one", "Name a folder.")
        return
    # One that is there stays as it is, and a NameNode in safe mode says so.
    above.make_folder("")
    above.check_access("", "rwx")
    parts = urlsplit(WebHdfs(place, login, seconds=SECONDS).led_to("_rocketconnect/probe"))
    try:
        socket.create_connection((parts.hostname or "", parts.port or _PORTS[parts.scheme]), SECONDS).close()
    except OSError:
        reason = f"leads to the DataNode {parts.netloc}, which does not answer"
        fix = "Start it, or let the executor reach the DataNodes by the names that the NameNode gives them (dfs.datanode.hostname)."
        yield Problem("endpoint", login.endpoint, reason, fix, is_warning=True)


def _read(place: Location, login: HdfsLogin) -> Iterator[Problem]:
    files = WebHdfs(place, login, seconds=SECONDS)
    try:
        found = files.status("")
    except NotThere:
        yield Problem("url", str(place), "is not there yet", "Make the folder, or name another one.", is_warning=True)
        return
    if not found.is_folder:
        yield Problem("url", str(place), "is a file", "Name the folder that it is in, and the file with pattern.")
        return
    files.check_access("", "r-x")


def _nearest(place: Location, login: HdfsLogin) -> tuple[WebHdfs, Status | None]:
    """The folder, or the nearest one above it that is there."""
    prefix = place.prefix
    while True:
        above = WebHdfs(Location(HDFS, place.bucket, prefix), login, seconds=SECONDS)
        try:
            return above, above.status("")
        except NotThere:
            if not prefix:
                return above, None
            prefix = prefix.rpartition("/")[0]
