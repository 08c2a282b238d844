"""Files of a server of FTP into a topic: Parquet, JSON lines, CSV, text."""

from collections.abc import Iterable

from connectors.object_store_source import form_problems
from connectors.objects.files import Files
from connectors.objects.location import FTP, Location
from connectors.sftp.ftp import FtpFiles, FtpLogin
from connectors.sftp.options import CHECK_SECONDS, LOOKS, PATH, asked, folder_of, host_option
from connectors.sftp.reading import READING, FileSource
from connectors.sftp.whole import after_problems
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.http.options import REQUEST_TIMEOUT, TLS, tls_of, tls_problems
from rocketconnect_sdk.options import Config, Kind, Option, run_checks


class FtpSource(FileSource):
    """Reads files of a server of FTP, with TLS, each once, and new ones when they are whole: Parquet, lines of JSON, CSV, text."""

    name = "ftp_source"
    options = (
        host_option("FTP"),
        Option("port", "Its port.", Kind.INT, "21", minimum=1, maximum=65535),
        Option("username", "The user of the server.", default="anonymous", references=True, aliases=("user",)),
        Option("password", "The password of the user.", secret=True),
        Option(
            "tls",
            "Explicit TLS (AUTH TLS), for files as well. false: whoever is on the way reads all, the password too.",
            Kind.BOOL,
            "true",
        ),
        *TLS,
        PATH,
        REQUEST_TIMEOUT,
        *READING,
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Source."""
        return run_checks(config, form_problems, after_problems, _tls_problems, _folder_problems)

    def place(self, config: Config) -> Location:
        """See FileSource."""
        return Location(FTP, f"{config['host']}:{config['port']}", folder_of(config))

    def files(self, config: Config) -> Files:
        """See FileSource."""
        return FtpFiles(folder_of(config), login_of(config, config["request.timeout"]))


def login_of(config: Config, seconds: float) -> FtpLogin:
    """How the server is reached, which may be silent for so long."""
    tls = tls_of(config) if config["tls"] else None
    return FtpLogin(config["host"], config["port"], config["username"], config["password"] or "", tls, seconds)


def _tls_problems(config: Config) -> Iterable[Problem]:
    yield from tls_problems(config)
    for option in TLS:
        if not config["tls"] and (given := config.raw.get(option.key)):
            yield Problem(option.key, "" if option.secret else given, "means nothing with tls=false", "Remove it, or set tls=true.")


@LOOKS
def _folder_problems(config: Config) -> Iterable[Problem]:
    place = FtpSource().place(config)
    return asked(config, place, FtpFiles(place.prefix, login_of(config, CHECK_SECONDS)), "ssl.ca.location", writes=False)
