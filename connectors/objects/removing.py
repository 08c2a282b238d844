"""Objects are removed."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import obstore
from obstore.store import AzureStore

from connectors.objects.remote import Remote, says_no_bucket

_SECONDS = 30
_VERSION = "2021-06-08"


def remove(remote: Remote, paths: Sequence[str]) -> None:
    """Removes objects, as far as they are there. Raises what obstore does, or an OSError with the answer of the store."""
    if isinstance(remote, AzureStore) and (token := _token(remote)):
        for path in paths:
            _remove_one(remote, path, token)
        return
    try:
        obstore.delete(remote, paths)
    except FileNotFoundError as error:
        if says_no_bucket(error):
            raise
        # Google and Azure tell of one that is not there; what becomes of the others then nobody says.
        for path in paths if len(paths) > 1 else ():
            with suppress(FileNotFoundError):
                obstore.delete(remote, [path])


def _token(remote: AzureStore) -> str:
    """The shared access signature that it is reached by; empty: by a key."""
    provider: Any = remote.credential_provider
    who: Mapping[str, str] = provider()
    return who.get("sas_token", "")


def _remove_one(remote: AzureStore, path: str, token: str) -> None:
    """One by one: obstore removes by Blob Batch alone, and a batch with a shared access signature is refused by some servers."""
    name = "/".join(filter(None, (remote.prefix, path)))
    url = f"{remote.config['endpoint'].rstrip('/')}/{remote.config['container_name']}/{quote(name)}?{token}"
    request = Request(url, method="DELETE", headers={"x-ms-version": _VERSION})  # noqa: S310  # of http or https, see endpoint
    try:
        urlopen(request, timeout=_SECONDS).close()  # noqa: S310  # as above
    except HTTPError as error:
        with error:
            told = f"status code: {error.code} {error.read().decode(errors='replace')}"
        if error.code != HTTPStatus.NOT_FOUND or "ContainerNotFound" in told:
            raise OSError(told) from None
