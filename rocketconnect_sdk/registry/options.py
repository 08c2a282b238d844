"""How a schema registry is reached. The keys are those of Confluent's converters where these have one."""

from urllib.parse import urlsplit

from rocketconnect_sdk.options import Kind, Option
from rocketconnect_sdk.permissions.hosts import of_urls
from rocketconnect_sdk.permissions.roots import Access


def _wrong_urls(urls: tuple[str, ...]) -> str | None:
    if not urls:
        return "names no registry"
    for url in urls:
        try:
            parts = urlsplit(url)
            fits = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            fits = False
        if not fits:
            return "is not the URL of a registry" if len(urls) == 1 else f"has {url[:100]!r}, which is not the URL of a registry"
        if parts.username is not None or parts.password is not None:
            return "has a user or a password in it, and these are secrets"
    return None


URL = Option(
    "schema.registry.url",
    "The URLs of the schema registry, separated by commas. Where one does not answer the next is asked.",
    Kind.LIST,
    required=True,
    check=_wrong_urls,
    fix="Give http://HOST:PORT or https://HOST:PORT, of Apicurio http://HOST:PORT/apis/ccompat/v7; a user in basic.auth.user.info.",
    reaches=of_urls,
    example="http://127.0.0.1:8081",
)

OPTIONS = (
    URL,
    Option("basic.auth.user.info", "USER:PASSWORD for the registry.", secret=True),
    Option("bearer.auth.token", "A token for the registry, in place of a user and password.", secret=True),
    Option(
        "schema.registry.ssl.ca.location",
        "A file with the certificates (PEM) that the registry's own must come from. Empty: those that the system trusts.",
        default="",
        access=Access.READ,
    ),
    Option(
        "schema.registry.timeout",
        "How long an answer of the registry may take.",
        Kind.DURATION,
        "10s",
        minimum=0.1,
        maximum=600,
    ),
    Option("schemas.cache.size", "How many schemas are remembered.", Kind.INT, "1000", minimum=1, maximum=1_000_000),
)
"""Of whatever uses a registry."""
