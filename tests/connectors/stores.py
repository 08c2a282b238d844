"""The servers of objects that the connectors are tested against, and the secrets that configurations of tests refer to."""

from itertools import count

from rocketconnect_sdk.options import Config
from tests.servers.files.ftp import PASSWORD
from tests.servers.hdfs import Hdfs
from tests.servers.objects import azure, google, s3
from tests.servers.objects.azure import Azure
from tests.servers.objects.google import Google
from tests.servers.objects.s3 import S3

Server = S3 | Azure | Google | Hdfs
_buckets = count()


def made_bucket(server: Server) -> str:
    """A bucket with nothing in it."""
    name = f"objects-{next(_buckets)}"
    server.make(name)
    return name


def known(config: Config, **others: str) -> Config:
    """A configuration with the secrets as a task has them.

    Args:
        config: The configuration.
        others: By the name of a reference another secret than the right one.
    """
    secrets = {
        "S3_SECRET": s3.SECRET,
        "AZURE_KEY": azure.KEY,
        "AZURE_SAS": azure.signature(),
        "GOOGLE_KEY": google.account(),
        "SFTP_PASSWORD": PASSWORD,
    }
    found = {f"${{env:{name}}}": secret for name, secret in {**secrets, **others}.items()}
    return config.replaced(lambda text: found.get(text, text))
