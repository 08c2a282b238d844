"""Connectors with the secrets that tests refer to."""

from collections.abc import Mapping

from connectors.sftp.ftp_source import FtpSource
from connectors.sftp.source import SftpSource
from connectors.sftp.task import FileTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config
from tests.connectors.stores import known
from tests.servers.files.ftp import PASSWORD


def with_secrets(config: Config, **others: str) -> Config:
    """A configuration with the secrets as a task has them."""
    return known(config, **{"FTP_PASSWORD": PASSWORD, **others})


class KnownFtpSource(FtpSource):
    """See FtpSource."""

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> FileTask:
        return super().open(with_secrets(config), task, context)


class KnownSftpSource(SftpSource):
    """See SftpSource."""

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> FileTask:
        return super().open(with_secrets(config), task, context)
