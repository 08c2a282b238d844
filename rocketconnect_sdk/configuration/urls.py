"""URLs of servers as options give them."""

from urllib.parse import urlsplit


def server_problem(url: str) -> str | None:
    """What is wrong with the URL of a server that is asked over HTTP, without a path and who we are; None: nothing."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return "is no URL of a server"
    if not fits or parts.query or parts.fragment or parts.path.strip("/"):
        return "is no URL of a server"
    return "has a user or a password in it, and these have options of their own" if "@" in parts.netloc else None
