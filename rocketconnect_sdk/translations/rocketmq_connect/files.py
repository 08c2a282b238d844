"""Files of servers of SFTP."""

from posixpath import split

from rocketconnect_sdk.translations.draft import Draft
from rocketconnect_sdk.translations.rocketmq_connect.common import PACKAGE
from rocketconnect_sdk.translations.tables import Named, Table

_PATH = "filePath"
_FIELDS, _DELIMITER = "fieldSchema", "fieldSeparator"


def _source(draft: Draft) -> None:
    """One file of lines with fields; here it is a folder, and which of its files."""
    if path := draft.take(_PATH):
        folder, name = split(path)
        draft.set("path", folder or ".", _PATH)
        draft.set("pattern", name, _PATH)
    # The published example escapes it, as for a regular expression, which it is not.
    delimiter = draft.take(_DELIMITER, default="|").replace("\\", "")
    fields = draft.take(_FIELDS)
    if len(delimiter) != 1:
        draft.refuse(_DELIMITER, "has several characters", "Give csv.delimiter with one.")
    elif fields:
        draft.set("format", "csv", _FIELDS)
        draft.set("csv.header", "false", _FIELDS)
        draft.set("csv.delimiter", delimiter, _DELIMITER)
        draft.set("columns", ",".join(name.strip() for name in fields.replace("\\", "").split(delimiter)), _FIELDS)


def _sink(draft: Draft) -> None:
    if _PATH in draft:
        fix = "Give `path`, a folder, and `format`: csv or jsonlines."
        draft.refuse(_PATH, "is one file that grows, and whole files are written into a folder here", fix)
    for key in (_FIELDS, _DELIMITER):
        draft.drop(key, "the schema of records says their fields, and csv.delimiter what divides them")


# The published examples have an empty one, for those who fill it in.
_LOGIN = {"password": Named("password")}
_HOSTS = "Give known.hosts or host.fingerprint: a server that nobody knows is not spoken to."

TABLES = (
    Table(
        "sftp_source",
        (f"{PACKAGE}http.sink.SftpSourceConnector",),
        _LOGIN,
        _source,
        told=("A file is read once it is whole, and what is appended later is not.", _HOSTS),
    ),
    Table("sftp_sink", (f"{PACKAGE}http.sink.SftpSinkConnector",), _LOGIN, _sink, told=(_HOSTS,)),
)
