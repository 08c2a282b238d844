"""URLs of stores, with one server or several."""

import re
from urllib.parse import urlencode

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

_SEVERAL = re.compile(
    r"(?P<begin>postgres(?:ql)?(?:\+psycopg)?://(?:[^@]*@)?)(?P<hosts>[^/?@]*,[^/?@]*)(?P<path>/[^?]*)?(?:\?(?P<query>.*))?"
)
_HOST = re.compile(r"(?:\[(?P<ip>[0-9A-Fa-f:.]+)\]|(?P<name>[^\[\]:]+))(?::(?P<port>\d+))?")
_PORT = "5432"


def parsed(text: str) -> sa.URL:
    """Return the URL; of a PostgreSQL with several servers, "postgresql://HOST:PORT,HOST:PORT/DATABASE", they are in its query.

    Raises:
        ValueError: it is none. The message does not repeat it: it may hold a password.
    """
    several = _SEVERAL.fullmatch(text)
    try:
        return sa.make_url(_spread(several) if several else text)
    except (ArgumentError, ValueError):
        msg = "it is no URL"
        raise ValueError(msg) from None


def _spread(several: re.Match[str]) -> str:
    """The form that SQLAlchemy knows of a URL with several servers."""
    found = [_HOST.fullmatch(host.strip()) for host in several["hosts"].split(",")]
    servers = [(host["ip"] or host["name"], host["port"] or _PORT) for host in found if host is not None]
    if len(servers) < len(found):
        msg = "a server is written HOST or HOST:PORT"
        raise ValueError(msg)
    names, ports = (",".join(each) for each in zip(*servers, strict=True))
    query = "&".join([*([several["query"]] if several["query"] else []), urlencode({"host": names, "port": ports})])
    return f"{several['begin']}{several['path'] or ''}?{query}"
