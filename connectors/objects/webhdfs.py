"""Folders of HDFS over WebHDFS: HTTP to the NameNode, which leads to DataNodes for what is in files."""

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, NoReturn, Protocol
from urllib.parse import quote, urlencode, urlsplit

from connectors.objects.faults import Fault
from connectors.objects.files import NotThere, StagedFiles, Status, StoreRejected, Taken
from connectors.objects.location import Location, servers
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.http import Answer, HttpClient
from rocketconnect_sdk.permissions.connections import check_url

_SHOWN = 200
_LARGEST = 1 << 30
"""Of a piece of a file."""
_TYPE = {"Content-Type": "application/octet-stream"}
_STANDBY = "StandbyException"
_FAULTS = {
    "AccessControlException": Fault.DENIED,
    **dict.fromkeys(("InvalidToken", "SecurityException", "AuthenticationException", "AuthorizationException"), Fault.KEYS),
    **dict.fromkeys(("SafeModeException", "RetriableException", _STANDBY), Fault.BUSY),
    **dict.fromkeys(("NSQuotaExceededException", "DSQuotaExceededException", "QuotaByStorageTypeExceededException"), Fault.FULL),
    **dict.fromkeys(("IllegalArgumentException", "UnsupportedOperationException"), Fault.UNABLE),
}


class Standby(StoreRejected):
    """The NameNode is not the active one: whatever was asked for was not done."""


class Who(Protocol):
    """Where the servers are, and who we are there: an HdfsLogin."""

    @property
    def user(self) -> str:
        """Who we say that we are; empty: there is a token."""

    @property
    def token(self) -> str:
        """A delegation token; empty: there is a user."""

    def url(self, bucket: str) -> str:
        """The servers of a bucket."""


class WebHdfs(StagedFiles):
    """Files below a folder of HDFS. See Files, and HttpClient.

    No request is sent twice, unless it is known that it was not done.

    Args:
        place: The folder.
        login: Its servers.
        seconds: Of one wait for a server, at most.

    Raises:
        HostRefused: the executor lets no connector speak to a server, which any method may say of one that it is led to.
        StoreRejected: of all methods: the server has refused it, or does not answer; then a change may have been made all the same.
    """

    def __init__(self, place: Location, login: Who, *, seconds: float = 30) -> None:
        self._place = place
        self._login = login
        self._servers = servers(login.url(place.bucket))
        self._http = HttpClient(self._servers, seconds=seconds, largest=_LARGEST, headers=_TYPE, timeout_option="")

    def status(self, path: str) -> Status:
        """See Files."""
        return _status(self._known("GET", path, "GETFILESTATUS", "FileStatus"))

    def listed(self, path: str) -> Iterator[Status]:
        """See Files. In the order of the names."""
        after: dict[str, str] = {}
        left = True
        while left:
            found = self._known("GET", path, "LISTSTATUS_BATCH", "DirectoryListing", **after)
            try:
                page = [_status(each) for each in found["partialListing"]["FileStatuses"]["FileStatus"]]
                left = found["remainingEntries"] > 0 and bool(page)
            except (KeyError, TypeError) as error:
                raise StoreRejected(Fault.NO_WEBHDFS, "an answer that is no listing") from error
            yield from page
            after = {"startAfter": page[-1].name} if page else {}

    def read(self, path: str, start: int, length: int) -> bytes:
        """See Files."""
        return self._ask("GET", self._led("GET", path, "OPEN", offset=str(start), length=str(length))).body

    def create(self, path: str, data: memoryview) -> None:
        """See Files."""
        self._ask("PUT", self.led_to(path), data)

    def led_to(self, path: str) -> str:
        """Where a file would be written. Changes nothing."""
        return self._led("PUT", path, "CREATE", overwrite="false")

    def rename(self, path: str, new: str, *, over: bool = False) -> None:
        """See Files."""
        options = {"destination": self._path(new), "renameoptions": "OVERWRITE" if over else "NONE"}
        answer = self._name_node("PUT", path, "RENAME", options)
        if answer.body.strip():
            # So answers who does not know the options, and renames by other rules.
            raise StoreRejected(Fault.UNABLE, "it knows no renaming that overwrites nothing")

    def make_folder(self, path: str) -> None:
        """See Files."""
        self._known("PUT", path, "MKDIRS", "boolean")

    def remove(self, path: str) -> None:
        """See Files."""
        self._known("DELETE", path, "DELETE", "boolean", recursive="true")

    def check_access(self, path: str, actions: str) -> None:
        """Raises StoreRejected: we may not do this with what is there: `r-x`, `-wx` and so on. Raises NotThere."""
        self._name_node("GET", path, "CHECKACCESS", {"fsaction": actions})

    def _path(self, path: str) -> str:
        return "/" + "/".join(filter(None, (self._place.prefix, path)))

    def _known(self, method: str, path: str, operation: str, wanted: str, **parameters: str) -> Any:
        """That part of the answer."""
        try:
            return json.loads(self._name_node(method, path, operation, parameters).body)[wanted]
        except (ValueError, KeyError, TypeError):
            raise StoreRejected(Fault.NO_WEBHDFS, "an answer that is none of WebHDFS") from None

    def _name_node(self, method: str, path: str, operation: str, parameters: Mapping[str, str], *, leads: bool = False) -> Answer:
        """Asks the one that is active, which is asked first from then on."""
        who = {"delegation": self._login.token} if self._login.token else {"user.name": self._login.user}
        url = f"/webhdfs/v1{quote(self._path(path))}?{urlencode({'op': operation, **who, **parameters})}"
        for _ in self._servers[1:]:
            try:
                return self._ask(method, url, leads=leads)
            except Standby:
                self._http.skip()
        return self._ask(method, url, leads=leads)

    def _led(self, method: str, path: str, operation: str, **parameters: str) -> str:
        """Where the NameNode leads."""
        location = self._name_node(method, path, operation, parameters, leads=True).target
        parts = urlsplit(location)
        if parts.scheme != urlsplit(self._servers[0]).scheme or not parts.hostname:
            raise StoreRejected(
                Fault.NO_WEBHDFS, "it leads nowhere, or from https to http" if location else "it leads to no DataNode"
            )
        check_url(location)
        return location

    def _ask(self, method: str, url: str, data: bytes | memoryview = b"", *, leads: bool = False) -> Answer:
        """A good answer, or one that leads somewhere."""
        try:
            answer = send(self._http, method, url, data)
        except SystemAway as error:
            raise StoreRejected(Fault.AWAY, str(error)) from None
        if not answer.is_good and not (leads and answer.status == HTTPStatus.TEMPORARY_REDIRECT):
            _refuse(answer.status, answer.body)
        return answer


def send(http: HttpClient, method: str, url: str, data: bytes | memoryview) -> Answer:
    """One request. Everything that changes a file system goes through here. Raises as HttpClient.ask."""
    return http.ask(method, url, data)


def _status(found: Mapping[str, Any]) -> Status:
    try:
        tag = f"{found['fileId']:x}-{found['modificationTime']:x}-{found['length']:x}"
        return Status(found["pathSuffix"], found["type"] == "DIRECTORY", found["length"], tag)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreRejected(Fault.NO_WEBHDFS, "an answer that says nothing of a file") from error


def _refuse(status: int, body: bytes) -> NoReturn:
    try:
        told = json.loads(body)["RemoteException"]
        name, message = str(told["exception"]), str(told.get("message") or "")
    except (ValueError, KeyError, TypeError):
        _refuse_page(status)
    fault = _FAULTS.get(name, Fault.OTHER)
    first = (message.splitlines() or [""])[0][:_SHOWN]
    said = name if fault is Fault.KEYS or not first else f"{name}: {first}"
    kind = {"FileNotFoundException": NotThere, "FileAlreadyExistsException": Taken, _STANDBY: Standby}.get(name, StoreRejected)
    raise kind(fault, said)


def _refuse_page(status: int) -> NoReturn:
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise StoreRejected(Fault.KEYS, str(status))
    raise StoreRejected(Fault.BUSY if status >= HTTPStatus.INTERNAL_SERVER_ERROR else Fault.NO_WEBHDFS, str(status))
