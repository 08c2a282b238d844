"""Where objects are. Pure."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

FOLDER = "file"
S3 = "s3"
GOOGLE = "gs"
AZURE = "az"
HDFS = "hdfs"
SFTP = "sftp"
FTP = "ftp"
_WRITTEN = {
    S3: "s3://bucket/prefix",
    GOOGLE: "gs://bucket/prefix",
    AZURE: "az://container/prefix",
    HDFS: "hdfs://host/folder",
    FOLDER: "file:///folder",
}
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]")
_CONTAINER = re.compile(r"(?=.{3,63}\Z)[a-z0-9]+(?:-[a-z0-9]+)*")
_NAME_NODE = re.compile(r"(?:[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?(?::[0-9]{1,5})?)?")
_MOST = 512
"""Bytes of a prefix: S3 and Google take keys of 1,024, and what stands behind it needs room."""


@dataclass(frozen=True, slots=True)
class Location:
    """A prefix of a bucket, or a folder.

    Attributes:
        kind: FOLDER, S3, GOOGLE, AZURE or HDFS: the scheme of its URL. SFTP or FTP, which options name and no URL.
        bucket: The bucket, or the container of Azure; of HDFS the NameNode, where the URL names it; of SFTP and FTP the
            host and the port; of a folder nothing.
        prefix: Of all keys, without a slash at its ends; of a folder its absolute path, of SFTP
            and FTP the path as the server has it.
    """

    kind: str
    bucket: str
    prefix: str

    def __str__(self) -> str:
        """The URL, for people."""
        if self.kind == FOLDER:
            return f"file://{self.prefix}"
        if self.kind in (SFTP, FTP):
            # Without a slash it is beneath the folder that a login leads to.
            return f"{self.kind}://{self.bucket}{self.prefix if self.prefix.startswith('/') else f'/~/{self.prefix}'}"
        return "/".join(filter(None, (f"{self.kind}://{self.bucket}", self.prefix)))

    def name(self, server: str) -> str:
        """The same for the same place, however it is written: what has one owner.

        Args:
            server: The URL of its server; empty: the one that all buckets of its kind are asked for at.
        """
        if self.kind == FOLDER:
            return f"file://{os.path.realpath(self.prefix)}"
        if self.kind == HDFS:
            return f"{HDFS}:///{self.prefix} at {','.join(servers(server))}"
        return f"{self} at {server.rstrip('/')}" if server else str(self)


def parse_url(url: str) -> Location:
    """The place that a URL names.

    Raises:
        ValueError: it is none.
    """
    parts = urlsplit(url)
    if parts.scheme not in _WRITTEN:
        raise ValueError(_none_of(tuple(_WRITTEN)))
    if parts.query or parts.fragment or "@" in parts.netloc:
        msg = "has more than a bucket and a prefix: accounts, keys and regions have options of their own"
        raise ValueError(msg)
    if parts.scheme == FOLDER:
        path = unquote(parts.path)
        if parts.netloc or not path.strip("/") or not all(map(str.isprintable, path)):
            msg = "names no folder by its absolute path, as file:///data/orders does"
            raise ValueError(msg)
        return Location(FOLDER, "", os.path.normpath(path))
    if parts.scheme == AZURE and not _CONTAINER.fullmatch(parts.netloc):
        msg = "names no container: 3 to 63 lower-case letters, digits and single hyphens between them"
        raise ValueError(msg)
    if parts.scheme == HDFS:
        _check_hdfs(parts.netloc, parts.path)
    elif not _BUCKET.fullmatch(parts.netloc):
        msg = "names no bucket: 3 to 63 lower-case letters, digits, points and hyphens"
        raise ValueError(msg)
    prefix = parts.path.strip("/")
    if (
        len(prefix.encode()) > _MOST
        or any(part in ("", ".", "..") for part in prefix.split("/") if prefix)
        or not prefix.isprintable()
    ):
        msg = f"has a prefix that no key begins with: names between single slashes, {_MOST} bytes at most"
        raise ValueError(msg)
    return Location(parts.scheme, parts.netloc, prefix)


def _check_hdfs(server: str, path: str) -> None:
    if not _NAME_NODE.fullmatch(server):
        msg = "names no host of a NameNode: hdfs://HOST/FOLDER, or hdfs:///FOLDER with the option endpoint"
        raise ValueError(msg)
    if not path.strip("/") or ":" in path:
        msg = "names no folder of HDFS: names between slashes, without colons, as hdfs://namenode/lake/orders"
        raise ValueError(msg)


def url_problem(url: str) -> str | None:
    """What is wrong with the URL of a place of any kind."""
    return _problem(url, tuple(_WRITTEN))


def s3_or_folder_problem(url: str) -> str | None:
    """What is wrong with the URL of a folder, or of a place of S3."""
    return _problem(url, (S3, FOLDER))


def _problem(url: str, kinds: Sequence[str]) -> str | None:
    if urlsplit(url).scheme not in kinds:
        return _none_of(kinds)
    try:
        parse_url(url)
    except ValueError as error:
        return str(error)
    return None


def _none_of(kinds: Sequence[str]) -> str:
    return f"names none of {', '.join(_WRITTEN[kind] for kind in kinds)}"


def servers(urls: str) -> list[str]:
    """The URLs of servers with commas between them, one by one."""
    return [url.strip().rstrip("/") for url in urls.split(",") if url.strip()]


def servers_problem(urls: str) -> str | None:
    """What is wrong with the URLs of servers, which have commas between them."""
    return next(filter(None, map(endpoint_problem, servers(urls))), None)


def endpoint_problem(url: str) -> str | None:
    """What is wrong with the URL of a server."""
    parts = urlsplit(url)
    if not url or (parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc and not parts.query):
        return None
    return "is no URL of a server"
