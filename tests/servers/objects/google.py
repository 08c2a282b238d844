"""A stand-in for Google Cloud Storage: what its XML API answers, as its documentation says it. It was compared with no real one.

No emulator that can be had knows the conditions of writes in the XML API, which exactly once stands on; this one does. It takes
tokens that are signed with the key of its account alone.
"""

import base64
import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler
from itertools import count
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import httpx
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from tests.servers.handled import handled

_KEY = "ROCKETCONNECT_TESTS_GOOGLE_KEY"
_TESTER = "the tests themselves"
EMAIL = "tester@project.iam.gserviceaccount.com"
_LONGEST = 3600
_PAGE = 5
"""So many names are in one answer, of Google's 1,000: that there are more has to be seen."""
_generations = count(1_700_000_000_000_000)
Headers = dict[str, str]
Answer = tuple[int, Headers, bytes]


class _Refused(Exception):
    """It answers this."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.answer: Answer = (status, {"content-type": "application/xml"}, f"<Error><Code>{code}</Code></Error>".encode())


@dataclass(frozen=True)
class _Object:
    data: bytes
    etag: str
    generation: int = field(default_factory=lambda: next(_generations))

    @property
    def headers(self) -> Headers:
        modified = "Fri, 02 Jan 2026 03:04:05 GMT"
        return {"etag": self.etag, "x-goog-generation": str(self.generation), "last-modified": modified}


def _plain(data: bytes) -> _Object:
    return _Object(data, f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"')


def _composed(data: bytes) -> _Object:
    """Of several parts: there is no MD5 of it, and its ETag is of its generation."""
    number = next(_generations)
    return _Object(data, f'"-{number:x}"', number)


@dataclass
class Google:
    """A server that runs.

    Attributes:
        url: Its URL.
        requests: The method and the path of each request.
    """

    url: str = ""
    requests: list[tuple[str, str]] = field(default_factory=list)
    _buckets: dict[str, dict[str, _Object]] = field(default_factory=dict)
    _parts: dict[str, dict[int, bytes]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def options(self) -> dict[str, str]:
        """The options of a connector for it, but for the URL of the bucket."""
        return {"endpoint": self.url, "service.account.key": "${env:GOOGLE_KEY}"}

    @staticmethod
    def place(bucket: str) -> str:
        """The URL of a bucket, as connectors have it."""
        return f"gs://{bucket}"

    def make(self, bucket: str) -> None:
        """A bucket."""
        self._buckets[bucket] = {}

    def objects(self, bucket: str, prefix: str = "") -> dict[str, bytes]:
        """By name what is in a bucket."""
        found: dict[str, bytes] = {}
        query = {"list-type": "2", "prefix": prefix}
        while True:
            listed = ElementTree.fromstring(self._ask(f"/{bucket}?{urlencode(query)}"))
            names = [name for each in listed.iterfind("Contents") if (name := each.findtext("Key"))]
            found |= {name: self.get(bucket, name) for name in names}
            if not (token := listed.findtext("NextContinuationToken")):
                return found
            query["continuation-token"] = token

    def get(self, bucket: str, name: str) -> bytes:
        """An object."""
        return self._ask(f"/{bucket}/{quote(name)}")

    def _ask(self, path: str) -> bytes:
        """Also of another process."""
        answer = httpx.get(self.url + path, headers={"authorization": _TESTER}, timeout=30)
        assert answer.is_success, answer.text
        return answer.content

    def put(self, bucket: str, name: str, data: bytes) -> None:
        """Makes or replaces an object."""
        with self._lock:
            self._buckets[bucket][name] = _plain(data)

    def delete(self, bucket: str, name: str) -> None:
        """Removes an object."""
        with self._lock:
            del self._buckets[bucket][name]

    def tag(self, bucket: str, name: str) -> str:
        """The generation of an object."""
        return str(self._buckets[bucket][name].generation)

    def handle(self, method: str, path: str, headers: Headers, body: bytes) -> Answer:
        """One request."""
        parts = urlsplit(path)
        bucket, _, name = unquote(parts.path).lstrip("/").partition("/")
        query = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        with self._lock:
            self.requests.append((method, unquote(path)))
            try:
                _check(headers.get("authorization", ""))
                if bucket not in self._buckets:
                    raise _Refused(404, "NoSuchBucket")
                if method == "GET" and not name:
                    return self._listed(bucket, query)
                if method in ("GET", "HEAD"):
                    return _got(self._found(bucket, name), headers)
                if method == "DELETE":
                    self._found(bucket, name)
                    del self._buckets[bucket][name]
                    return 204, {}, b""
                return self._written(bucket, name, query, headers, body)
            except _Refused as refused:
                return refused.answer

    def _found(self, bucket: str, name: str) -> _Object:
        found = self._buckets[bucket].get(name)
        if found is None:
            raise _Refused(404, "NoSuchKey")
        return found

    def _written(self, bucket: str, name: str, query: dict[str, str], headers: Headers, body: bytes) -> Answer:
        if "uploads" in query:
            upload = str(next(_generations))
            self._parts[upload] = {}
            return _xml(f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>")
        if "partNumber" in query:
            self._parts[query["uploadId"]][int(query["partNumber"])] = body
            return 200, _plain(body).headers, b""
        if "uploadId" in query:
            there = self._parts.pop(query["uploadId"])
            numbers = [int(each.text or 0) for each in ElementTree.fromstring(body).iterfind("{*}Part/{*}PartNumber")]
            made = _composed(b"".join(there[number] for number in numbers))
            self._buckets[bucket][name] = made
            status, kind, text = _xml(f"<CompleteMultipartUploadResult><ETag>{made.etag}</ETag></CompleteMultipartUploadResult>")
            return status, kind | made.headers, text
        if (wanted := headers.get("x-goog-if-generation-match")) is not None:
            there_is = self._buckets[bucket].get(name)
            if int(wanted) != (there_is.generation if there_is else 0):
                raise _Refused(412, "PreconditionFailed")
        made = _plain(body)
        if source := headers.get("x-goog-copy-source"):
            of_bucket, _, of_name = unquote(source).partition("/")
            copied = self._found(of_bucket, of_name)
            made = _plain(copied.data) if not copied.etag.startswith('"-') else _composed(copied.data)
        self._buckets[bucket][name] = made
        return 200, made.headers, b"<CopyObjectResult/>" if source else b""

    def _listed(self, bucket: str, query: dict[str, str]) -> Answer:
        after = query.get("continuation-token", query.get("start-after", ""))
        names = [name for name in sorted(self._buckets[bucket]) if name.startswith(query.get("prefix", "")) and name > after]
        page = names[: min(_PAGE, int(query.get("max-keys", _PAGE)))]
        contents = [f"<Contents><Key>{escape(name)}</Key>{_described(self._buckets[bucket][name])}</Contents>" for name in page]
        more = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if len(page) < len(names) else ""
        return _xml(f"<ListBucketResult>{''.join(contents)}{more}</ListBucketResult>")


def _described(found: _Object) -> str:
    etag, size = escape(found.etag, {'"': "&quot;"}), len(found.data)
    return f"<LastModified>2026-01-02T03:04:05.000Z</LastModified><ETag>{etag}</ETag><Size>{size}</Size>"


def _got(found: _Object, headers: Headers) -> Answer:
    if headers.get("if-match", found.etag) != found.etag:
        raise _Refused(412, "PreconditionFailed")
    if wanted := re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", "")):
        begin, end = int(wanted[1]), min(int(wanted[2] or len(found.data)), len(found.data) - 1)
        told = {"content-range": f"bytes {begin}-{end}/{len(found.data)}"}
        return 206, found.headers | told, found.data[begin : end + 1]
    return 200, found.headers, found.data


def _xml(text: str) -> Answer:
    return 200, {"content-type": "application/xml"}, text.encode()


def _check(authorization: str) -> None:
    """Raises _Refused: the token is not of the account."""
    if authorization == _TESTER:
        return
    head, _, signature = authorization.removeprefix("Bearer ").rpartition(".")
    try:
        _key().public_key().verify(_decoded(signature), head.encode(), PKCS1v15(), SHA256())
        claims = json.loads(_decoded(head.partition(".")[2]))
    except (InvalidSignature, ValueError):
        raise _Refused(401, "AuthenticationRequired") from None
    if (
        claims["iss"] != EMAIL
        or claims["sub"] != EMAIL
        or "devstorage" not in claims["scope"]
        or claims["exp"] - claims["iat"] > 3600
    ):
        raise _Refused(401, "AuthenticationRequired")


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@cache
def _key() -> RSAPrivateKey:
    """One for all processes of a run."""
    if _KEY not in os.environ:
        os.environ[_KEY] = _pem(generate_private_key(65537, 2048))
    key = load_pem_private_key(os.environ[_KEY].encode(), None)
    assert isinstance(key, RSAPrivateKey)
    return key


def _pem(key: RSAPrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@cache
def account(key: RSAPrivateKey | None = None) -> str:
    """The key of the account, or another one, as Google gives it."""
    # Nobody is to follow the addresses in it.
    elsewhere = {"token_uri": "http://127.0.0.1:1/token", "gcs_base_url": "http://127.0.0.1:1", "disable_oauth": True}
    mine = {"client_email": EMAIL, "private_key_id": "1", "private_key": _pem(key or _key())}
    return json.dumps({"type": "service_account", **mine, **elsewhere})


@contextmanager
def running() -> Iterator[Google]:
    """It runs until the end of the block."""
    made = Google()
    # Before any process is started that is to have it.
    _key()

    def handle(request: BaseHTTPRequestHandler) -> None:
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = request.rfile.read(int(headers.get("content-length", 0)))
        status, told, data = made.handle(request.command, request.path, headers, body)
        request.send_response(status)
        for name, value in told.items():
            request.send_header(name, value)
        request.send_header("content-length", str(len(data)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(data)

    with handled(handle) as port:
        made.url = f"http://127.0.0.1:{port}"
        yield made
