"""A server that speaks S3, with its objects in memory: moto's (see s3_server). It knows If-Match and If-None-Match."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote
from xml.etree import ElementTree

import httpx
from pyarrow.fs import S3FileSystem

from tests import free_ports
from tests.servers.handled import answering

KEY, SECRET, REGION = "tester", "the-secret-of-tester", "eu-north-1"
_SIGNED = f"Credential={KEY}/20260101/{REGION}/s3/aws4_request, SignedHeaders=host, Signature=0"
_SOMEBODY = {"authorization": f"AWS4-HMAC-SHA256 {_SIGNED}"}
"""It looks at no signature."""


class S3Failed(Exception):
    """It does not start; the text says why."""


@dataclass(frozen=True)
class S3:
    """A server that runs.

    Attributes:
        url: Its URL.
    """

    url: str

    def options(self) -> dict[str, str]:
        """The options of a connector for it, but for the URL of the bucket."""
        return {"endpoint": self.url, "region": REGION, "access.key.id": KEY, "secret.access.key": "${env:S3_SECRET}"}

    @staticmethod
    def place(bucket: str) -> str:
        """The URL of a bucket, as connectors have it."""
        return f"s3://{bucket}"

    def make(self, bucket: str) -> None:
        """A bucket."""
        body = f"<CreateBucketConfiguration><LocationConstraint>{REGION}</LocationConstraint></CreateBucketConfiguration>"
        assert httpx.put(f"{self.url}/{bucket}", content=body, timeout=30).is_success

    def keys(self, bucket: str, prefix: str = "") -> list[str]:
        """The keys of all objects in a bucket."""
        answer = httpx.get(f"{self.url}/{bucket}", params={"prefix": prefix}, timeout=30)
        assert answer.is_success, answer.text
        listed = ElementTree.fromstring(answer.text)
        assert listed.findtext("{*}IsTruncated") == "false"
        return [key for each in listed.iterfind("{*}Contents") if (key := each.findtext("{*}Key"))]

    def objects(self, bucket: str, prefix: str = "") -> dict[str, bytes]:
        """By key what is in a bucket."""
        return {key: self.get(bucket, key) for key in self.keys(bucket, prefix)}

    def get(self, bucket: str, key: str) -> bytes:
        """An object."""
        answer = httpx.get(f"{self.url}/{bucket}/{quote(key)}", headers=_SOMEBODY, timeout=30)
        assert answer.is_success, answer.text
        return answer.content

    def put(self, bucket: str, key: str, data: bytes) -> None:
        """Makes or replaces an object."""
        assert httpx.put(f"{self.url}/{bucket}/{quote(key)}", content=data, headers=_SOMEBODY, timeout=30).is_success

    def delete(self, bucket: str, key: str) -> None:
        """Removes an object."""
        assert httpx.delete(f"{self.url}/{bucket}/{quote(key)}", headers=_SOMEBODY, timeout=30).is_success

    def tag(self, bucket: str, key: str) -> str:
        """The ETag of an object."""
        return httpx.head(f"{self.url}/{bucket}/{quote(key)}", headers=_SOMEBODY, timeout=30).headers["etag"]

    def files(self) -> S3FileSystem:
        """Another client of it than the one that is tested."""
        return S3FileSystem(access_key=KEY, secret_key=SECRET, endpoint_override=self.url, region=REGION)


@contextmanager
def running(environment: Mapping[str, str] | None = None) -> Iterator[S3]:
    """Run it until the end of the block.

    Raises:
        S3Failed: see there.
    """
    port = free_ports.choose()
    command = [sys.executable, "-m", "tests.servers.objects.s3_server", "-H", "127.0.0.1", "-p", str(port)]
    url = f"http://127.0.0.1:{port}"

    def failed(told: str) -> S3Failed:
        return S3Failed(f"{told}; is moto[s3] installed, with flask and flask-cors?")

    with answering(command, lambda: _answers(url), failed, environment or {}):
        yield S3(url)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/moto-api/", timeout=5).is_success
    except httpx.HTTPError:
        return False
