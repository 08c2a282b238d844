"""Files of a server of SFTP into a topic: Parquet, JSON lines, CSV, text."""

from collections.abc import Iterable

from connectors.object_store_source import form_problems
from connectors.objects.files import Files
from connectors.objects.location import Location
from connectors.sftp.options import SERVER, key_problems, login_of, login_problems, place_of, read_problems
from connectors.sftp.reading import READING, FileSource
from connectors.sftp.whole import after_problems
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, run_checks


class SftpSource(FileSource):
    """Reads files of a server of SFTP, each once, and new ones when they are whole: Parquet, lines of JSON, CSV, text."""

    name = "sftp_source"
    options = (*SERVER, *READING)

    def check(self, config: Config) -> Iterable[Problem]:
        """See Source."""
        return run_checks(config, form_problems, after_problems, login_problems, key_problems, read_problems)

    def place(self, config: Config) -> Location:
        """See FileSource."""
        return place_of(config)

    def files(self, config: Config) -> Files:
        """See FileSource."""
        return login_of(config).files(place_of(config))
