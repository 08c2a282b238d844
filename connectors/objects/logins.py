"""How servers of objects are reached, and who we are there. Pure, and picklable."""

import base64
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from connectors.objects.files import FilesLogin, StagedFiles
from connectors.objects.location import Location

HTTP_PORT = 9870
"""Of a NameNode, where its configuration does not say another one."""


@dataclass(frozen=True, slots=True)
class Login(ABC):
    """How a server is reached, and who we are there.

    Attributes:
        endpoint: Its URL; empty: that of the cloud. Of NameNodes the URLs, with commas between them.
    """

    endpoint: str

    @abstractmethod
    def url(self, bucket: str) -> str:
        """Where the bucket is asked for, with the bucket in the host's name where it belongs there."""

    @property
    @abstractmethod
    def who(self) -> tuple[str, str]:
        """The option that says who we are, and its value as far as it may be shown."""


@dataclass(frozen=True, slots=True)
class S3Login(Login):
    """Of a server that speaks S3.

    Attributes:
        region: Its region.
        virtual_host: The bucket is a part of the host's name.
        key: The access key.
        secret: What belongs to it.
        token: Of a session; empty: there is none.
    """

    region: str
    virtual_host: bool
    key: str
    secret: str = field(repr=False)
    token: str = field(default="", repr=False)

    def url(self, bucket: str) -> str:
        """See Login."""
        endpoint = (
            self.endpoint.rstrip("/") or f"https://s3.{self.region}.amazonaws.com{'.cn' if self.region.startswith('cn-') else ''}"
        )
        if not self.virtual_host:
            return endpoint
        scheme, _, host = endpoint.partition("://")
        return f"{scheme}://{bucket}.{host}"

    @property
    def who(self) -> tuple[str, str]:
        """See Login."""
        return "access.key.id", self.key


@dataclass(frozen=True, slots=True)
class GoogleLogin(Login):
    """Of Google Cloud Storage.

    Attributes:
        account: The key of a service account: JSON.
    """

    account: str = field(repr=False)

    def url(self, bucket: str) -> str:
        """See Login. Tokens are signed here, so nobody else is asked."""
        del bucket
        return self.endpoint.rstrip("/") or "https://storage.googleapis.com"

    @property
    def who(self) -> tuple[str, str]:
        """See Login."""
        return "service.account.key", ""


@dataclass(frozen=True, slots=True)
class AzureLogin(Login):
    """Of Azure Blob Storage.

    Attributes:
        account: The storage account.
        key: One of its keys; empty: there is a token.
        token: A shared access signature; empty: there is a key.
    """

    account: str
    key: str = field(repr=False)
    token: str = field(repr=False)

    def url(self, bucket: str) -> str:
        """See Login."""
        del bucket
        return self.endpoint.rstrip("/") or f"https://{self.account}.blob.core.windows.net"

    @property
    def who(self) -> tuple[str, str]:
        """See Login."""
        return "sas.token" if self.token else "account.key", ""


@dataclass(frozen=True, slots=True)
class HdfsLogin(Login, FilesLogin):
    """Of HDFS, by WebHDFS.

    Attributes:
        user: Who we say that we are; empty: there is a token.
        token: A delegation token; empty: there is a user.
    """

    user: str
    token: str = field(default="", repr=False)

    def url(self, bucket: str) -> str:
        """See Login. With the port of RPC, which addresses of Hadoop have, nobody speaks HTTP."""
        return self.endpoint.rstrip("/") or f"http://{bucket.partition(':')[0]}:{HTTP_PORT}"

    @property
    def who(self) -> tuple[str, str]:
        """See Login."""
        return ("delegation.token", "") if self.token else ("user.name", self.user)

    def files(self, place: Location) -> StagedFiles:
        """See FilesLogin."""
        from connectors.objects.webhdfs import WebHdfs

        return WebHdfs(place, self)


def account_key_problem(key: str) -> str | None:
    """What is wrong with the key of a storage account; no part of it is repeated."""
    try:
        known = bool(base64.b64decode(key, validate=True))
    except ValueError:
        known = False
    return None if known else "is no key of a storage account, which is Base64"


def token_problem(token: str) -> str | None:
    """What is wrong with a shared access signature; no part of it is repeated."""
    found = parse_qs(token.removeprefix("?"))
    return None if {"sv", "sig"} <= set(found) else "is no shared access signature, as sv=...&sp=...&sig=... is one"
