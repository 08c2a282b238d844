"""A server that speaks Azure Blob Storage, with its blobs in memory: Microsoft's Azurite. It knows If-Match and If-None-Match."""

import base64
import hashlib
import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode
from xml.etree import ElementTree

import httpx

from tests import free_ports
from tests.servers.handled import answering

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Every Azurite has them; they are no secret."""
_VERSION = "2021-06-08"
_END = "2099-01-01T00:00:00Z"
_MAIN = Path(__file__).parents[3] / ".venv/azurite/node_modules/azurite/dist/src/blob/main.js"
"""Where scripts/setup --for-tests puts it."""


class AzureFailed(Exception):
    """It does not start; the text says why."""


@dataclass(frozen=True)
class Azure:
    """A server that runs.

    Attributes:
        url: Its URL, with the account.
    """

    url: str

    def options(self) -> dict[str, str]:
        """The options of a connector for it, but for the URL of the container."""
        return {"endpoint": self.url, "account.name": ACCOUNT, "account.key": "${env:AZURE_KEY}"}

    @staticmethod
    def place(container: str) -> str:
        """The URL of a container, as connectors have it."""
        return f"az://{container}"

    def make(self, container: str) -> None:
        """A container."""
        assert httpx.put(f"{self.url}/{container}?restype=container&{signature()}", timeout=30).is_success

    def objects(self, container: str, prefix: str = "") -> dict[str, bytes]:
        """By name what is in a container."""
        listing = f"{self.url}/{container}?restype=container&comp=list&prefix={quote(prefix)}&{signature()}"
        answer = httpx.get(listing, timeout=30)
        assert answer.is_success, answer.text
        names = [name for each in ElementTree.fromstring(answer.content).iterfind("Blobs/Blob") if (name := each.findtext("Name"))]
        return {name: self.get(container, name) for name in names}

    def get(self, container: str, name: str) -> bytes:
        """A blob."""
        answer = httpx.get(self._blob(container, name), timeout=30)
        assert answer.is_success, answer.text
        return answer.content

    def put(self, container: str, name: str, data: bytes) -> None:
        """Makes or replaces a blob."""
        kind = {"x-ms-blob-type": "BlockBlob"}
        assert httpx.put(self._blob(container, name), content=data, headers=kind, timeout=30).is_success

    def delete(self, container: str, name: str) -> None:
        """Removes a blob."""
        assert httpx.delete(self._blob(container, name), timeout=30).is_success

    def tag(self, container: str, name: str) -> str:
        """The ETag of a blob."""
        return httpx.head(self._blob(container, name), timeout=30).headers["etag"]

    def _blob(self, container: str, name: str) -> str:
        return f"{self.url}/{container}/{quote(name)}?{signature()}"


def signature(permissions: str = "racwdl") -> str:
    """A shared access signature for all blobs of the account."""
    signed = "\n".join([ACCOUNT, permissions, "b", "sco", "", _END, "", "https,http", _VERSION, "", ""])
    made = hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()
    parts = {"sv": _VERSION, "ss": "b", "srt": "sco", "sp": permissions, "se": _END, "spr": "https,http"}
    return urlencode({**parts, "sig": base64.b64encode(made).decode()})


@contextmanager
def running() -> Iterator[Azure]:
    """Run it until the end of the block.

    Raises:
        AzureFailed: see there.
    """
    port = free_ports.choose()
    where = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence"]
    # Clients are newer than it, and ask with the version of the service that they know.
    command = ["node", str(_MAIN), *where, "--silent", "--disableTelemetry", "--skipApiVersionCheck"]
    url = f"http://127.0.0.1:{port}/{ACCOUNT}"
    with answering(command, lambda: _answers(url), lambda told: AzureFailed(f"{told}; has `make setup-tests` run?"), {}):
        yield Azure(url)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}?comp=list&{signature()}", timeout=5).is_success
    except httpx.HTTPError:
        return False
