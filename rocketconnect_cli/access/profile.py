"""How a gateway is reached, and as whom: as the command line says, the environment, or a profile in a file."""

import os
import ssl
import tomllib
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from rocketconnect_cli.api import Access, ApiError, Exit
from rocketconnect_sdk.configuration.nearest import did_you_mean, nearest

FILE = "ROCKETCONNECT_PROFILES"
"""The variable with the path of the file of profiles."""
_USUAL = "~/.config/rocketconnect/profiles.toml"


@dataclass(frozen=True, slots=True)
class Profile:
    """How a gateway is reached. What is empty is not said.

    Attributes:
        url: Of the gateway.
        token: What is shown; it wins over the file.
        token_file: A file with the token and nothing else.
        cacert: PEM file of who signed the certificate of the gateway; empty: whom this machine trusts.
        cert: PEM file of the own certificate.
        key: PEM file of its key.
    """

    url: str = ""
    token: str = field(default="", repr=False)
    token_file: str = ""
    cacert: str = ""
    cert: str = ""
    key: str = ""

    def over(self, other: "Profile") -> "Profile":
        """Return this one, with what the other one says where this one says nothing."""
        mine = {each.name: value for each in fields(self) if (value := getattr(self, each.name))}
        # A token that somebody names wins over a file that the other one names.
        return replace(other, **(({"token": ""} if "token_file" in mine else {}) | mine))

    def access(self) -> Access:
        """Return what a client needs of it.

        Raises:
            ApiError: WRONG: a file cannot be read, or is not what it should be.
        """
        token = self.token or _token_in(self.token_file)
        if not token.isprintable() or not token.isascii():
            raise ApiError(Exit.WRONG, {"detail": "the token has characters that no token has. Give it as it was printed."})
        if not (self.cacert or self.cert or self.key):
            return Access(token)
        try:
            context = ssl.create_default_context(cafile=self.cacert or None)
            if self.cert:
                context.load_cert_chain(self.cert, self.key or None)
        except OSError as error:
            named = ", ".join(each for each in (self.cacert, self.cert, self.key) if each)
            detail = f"{named}: {error.strerror or error}. Give PEM files that can be read with --cacert, --cert and --key."
            raise ApiError(Exit.WRONG, {"detail": detail}) from None
        return Access(token, context)


CURRENT: ContextVar[Profile | None] = ContextVar("profile", default=None)
"""Of the command that runs; None: of none, as where words are completed."""


def current(environment: Mapping[str, str] = os.environ) -> Profile:
    """Return how the gateway is reached.

    Raises:
        ApiError: WRONG, see named().
    """
    return CURRENT.get() or chosen(Profile(), environment.get("ROCKETCONNECT_PROFILE", ""), environment)


def chosen(given: Profile, name: str, environment: Mapping[str, str]) -> Profile:
    """Return what was given, else what the environment says, else the profile.

    Args:
        given: On the command line.
        name: Of the profile; empty: none.
        environment: Of this process.

    Raises:
        ApiError: WRONG, see named().
    """
    said = {each: environment.get(f"ROCKETCONNECT_{each.upper()}", "") for each in ("token", "token_file", "cacert", "cert", "key")}
    first = given.over(Profile(**said))
    return first.over(named(name, environment)) if name else first


def named(name: str, environment: Mapping[str, str]) -> Profile:
    """Return a profile of the file of profiles.

    Args:
        name: As the file has it: a table with the names of the options, such as [production] with url = "https://...".
        environment: Names the file.

    Raises:
        ApiError: WRONG: there is no such file or profile, or something is wrong with it.
    """
    path = Path(environment.get(FILE) or _USUAL).expanduser()
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        how = f'Write it, with [{name}] and url = "https://HOST:8082", or name another file in {FILE}.'
        raise ApiError(Exit.WRONG, {"detail": f"{path}, the file of profiles: {error.strerror}. {how}"}) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ApiError(Exit.WRONG, {"detail": f"{path}, the file of profiles, is not TOML: {error}."}) from None
    found = document.get(name)
    if not isinstance(found, dict):
        known = [key for key, value in document.items() if isinstance(value, dict)]
        there = did_you_mean(nearest(name, known)) or (f"there are {', '.join(known)}" if known else "there is none")
        raise ApiError(Exit.WRONG, {"detail": f"{path} has no profile [{name}]: {there}"})
    keys = [each.name.replace("_", "-") for each in fields(Profile) if each.name != "token"]
    wrong = [f"{key} is none of {', '.join(keys)}" for key in found if key not in keys]
    wrong += [f"{key} is no text" for key, value in found.items() if key in keys and not isinstance(value, str)]
    if wrong:
        raise ApiError(Exit.WRONG, {"detail": f"{path}, [{name}]: {'; '.join(wrong)}."})
    return Profile(**{key.replace("-", "_"): value for key, value in found.items()})


def _token_in(path: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).expanduser().read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text of plain characters"
        raise ApiError(
            Exit.WRONG, {"detail": f"{path}, the file with the token: {why}. Write the token into it, and nothing else."}
        ) from None
