"""Where objects are. Pure."""

import os
import re
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

FOLDER = "file"
S3 = "s3"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]")
_MOST = 512
"""Bytes of a prefix: S3 takes keys of 1,024, and what stands behind it needs room."""


@dataclass(frozen=True, slots=True)
class Place:
    """A prefix of a bucket, or a folder.

    Attributes:
        kind: FOLDER or S3.
        bucket: The bucket; of a folder nothing.
        prefix: Of all keys, without a slash at its ends; of a folder its absolute path.
    """

    kind: str
    bucket: str
    prefix: str

    def __str__(self) -> str:
        """The URL, for people."""
        return f"file://{self.prefix}" if self.kind == FOLDER else "/".join(filter(None, (f"s3://{self.bucket}", self.prefix)))

    def name(self, endpoint: str) -> str:
        """The same for the same place, however it is written: what has one owner."""
        if self.kind == FOLDER:
            return f"file://{os.path.realpath(self.prefix)}"
        return f"{self} at {endpoint.rstrip('/')}" if endpoint else str(self)


@dataclass(frozen=True, slots=True)
class Login:
    """How a server is reached, and who we are there. Picklable.

    Attributes:
        endpoint: Its URL; empty: AWS.
        region: Its region.
        virtual_host: The bucket is a part of the host's name.
        key: The access key.
        secret: What belongs to it.
        token: Of a session; empty: there is none.
    """

    endpoint: str
    region: str
    virtual_host: bool
    key: str
    secret: str = field(repr=False)
    token: str = field(default="", repr=False)

    def url(self, bucket: str) -> str:
        """Where the bucket is asked for, with the bucket in the host's name where it belongs there."""
        endpoint = (
            self.endpoint.rstrip("/") or f"https://s3.{self.region}.amazonaws.com{'.cn' if self.region.startswith('cn-') else ''}"
        )
        if not self.virtual_host:
            return endpoint
        scheme, _, host = endpoint.partition("://")
        return f"{scheme}://{bucket}.{host}"


def parse_url(url: str) -> Place:
    """The place that a URL names.

    Raises:
        ValueError: it is none.
    """
    parts = urlsplit(url)
    if parts.scheme not in (FOLDER, S3):
        msg = "names neither s3://bucket/prefix nor file:///folder"
        raise ValueError(msg)
    if parts.query or parts.fragment or "@" in parts.netloc:
        msg = "has more than a bucket and a prefix: keys and regions have options of their own"
        raise ValueError(msg)
    if parts.scheme == FOLDER:
        path = unquote(parts.path)
        if parts.netloc or not path.strip("/") or not all(map(str.isprintable, path)):
            msg = "names no folder by its absolute path, as file:///data/orders does"
            raise ValueError(msg)
        return Place(FOLDER, "", os.path.normpath(path))
    prefix = parts.path.strip("/")
    if not _BUCKET.fullmatch(parts.netloc):
        msg = "names no bucket: 3 to 63 lower-case letters, digits, points and hyphens"
        raise ValueError(msg)
    if (
        len(prefix.encode()) > _MOST
        or any(part in ("", ".", "..") for part in prefix.split("/") if prefix)
        or not prefix.isprintable()
    ):
        msg = f"has a prefix that no key begins with: names between single slashes, {_MOST} bytes at most"
        raise ValueError(msg)
    return Place(S3, parts.netloc, prefix)


def url_problem(url: str) -> str | None:
    """What is wrong with a URL."""
    try:
        parse_url(url)
    except ValueError as error:
        return str(error)
    return None


def endpoint_problem(url: str) -> str | None:
    """What is wrong with the URL of a server."""
    parts = urlsplit(url)
    if not url or (parts.scheme in ("http", "https") and parts.hostname and not parts.path.strip("/") and "@" not in parts.netloc):
        return None
    return "is no URL of a server"
