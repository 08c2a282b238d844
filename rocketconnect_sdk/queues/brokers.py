"""Checks of the options by which brokers of AMQP are reached. Pure."""

from collections.abc import Iterable

from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.http.options import tls_problems
from rocketconnect_sdk.options import Config


def broker_problems(config: Config) -> Iterable[Problem]:
    """What of `url`, `user`, `password` and the options TLS does not go together. Connects to nothing."""
    if bool(config["user"]) != bool(config["password"]):
        missing, given = ("user", "password") if config["password"] else ("password", "user")
        yield Problem(missing, "", f"is missing, and `{given}` is given", f"Set it, or remove `{given}`.")
    yield from tls_problems(config)
    if config["url"].startswith("amqp:"):
        for key in ("ssl.ca.location", "ssl.certificate.location"):
            if config[key]:
                yield Problem(key, config[key], "means nothing without TLS", "Write amqps:// in `url`, or remove it.")
