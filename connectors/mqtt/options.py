"""How a connector is told of a broker of MQTT and of who it is there, and what filters and topics may be."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.permissions.hosts import of_urls
from rocketconnect_sdk.permissions.roots import Access

CHECK_SECONDS = 3.0
"""A check waits no longer for a broker."""
PORTS = {"mqtt": 1883, "mqtts": 8883}
FIVE = "5"


def url_problem(url: str) -> str | None:
    """What is wrong with the URL of a broker; None: nothing."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in PORTS and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return "is no URL of a broker"
    if not fits or parts.path.strip("/") or parts.query or parts.fragment:
        return "is no URL of a broker"
    return "has a user or a password in it, and these have options of their own" if "@" in parts.netloc else None


BROKER = (
    Option(
        "url",
        "The broker: mqtt://HOST:1883, with TLS mqtts://HOST:8883.",
        required=True,
        check=url_problem,
        fix="Write mqtt://HOST:1883 or mqtts://HOST:8883; a user in `user`, a password in `password`.",
        reaches=of_urls,
        example="mqtt://127.0.0.1:1883",
    ),
    Option("version", "The version of MQTT. 5 has properties and reasons.", default=FIVE, choices=(FIVE, "3.1.1")),
    Option("user", "The user. Empty: nobody.", default="", references=True, aliases=("username",)),
    Option("password", "The password of the user.", secret=True),
    Option(
        "ssl.ca.location",
        "A file with the certificates (PEM) that the broker's own must come from. Empty: those that the system trusts.",
        default="",
        access=Access.READ,
    ),
    Option("ssl.certificate.location", "A file with our own certificate (PEM), for the broker.", default="", access=Access.READ),
    Option("ssl.key.location", "A file with the key of that certificate (PEM).", default="", access=Access.READ),
    Option("ssl.key.password", "The password of that key.", secret=True),
    Option("request.timeout", "How long an answer of the broker may take.", Kind.DURATION, "30s", minimum=0.1, maximum=3600),
)
"""The options of a broker."""


def broker_problems(config: Config) -> Iterable[Problem]:
    """What is wrong with the options of a broker together."""
    if config["password"] and not config["user"]:
        yield Problem("user", "", "is missing: a password is that of a user", "Set it, or remove `password`.")
    if bool(config["ssl.certificate.location"]) != bool(config["ssl.key.location"]):
        fix = "Set both, or none."
        yield Problem("ssl.key.location", config["ssl.key.location"], "belongs to ssl.certificate.location", fix)
    if config["url"].startswith("mqtt:"):
        for key in ("ssl.ca.location", "ssl.certificate.location"):
            if config[key]:
                yield Problem(key, config[key], "means nothing without TLS", "Write mqtts:// in `url`, or remove it.")


def filter_problem(text: str) -> str | None:
    """What is wrong with a filter of topics; None: nothing."""
    if problem := _name_problem(text):
        return problem
    levels = text.split("/")
    if "#" in text and (levels[-1] != "#" or text.count("#") > 1):
        return "has a # that is not the whole last level"
    if any("+" in level and level != "+" for level in levels):
        return "has a + that is not a whole level"
    return "names a group, and that is what share.group is for" if text.startswith("$share/") else None


def topic_problem(text: str) -> str | None:
    """What is wrong with a topic that is published to; None: nothing."""
    if problem := _name_problem(text):
        return problem
    return "has a + or a #, which are for filters" if "+" in text or "#" in text else None


def _name_problem(text: str) -> str | None:
    if not text:
        return "is empty"
    if "\0" in text:
        return "has a null character"
    size = len(text.encode(errors="surrogatepass"))
    return f"takes {size:,} bytes, and MQTT allows 65,535" if size > 0xFFFF else None
