"""References to secrets: how they are written. What they stand for is looked up where the task runs, and nowhere else."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Form:
    """How the references of one kind are written: `${KIND:NAME}`.

    Attributes:
        kind: What comes first; it says where the secret is.
        name: What comes behind it, as people are shown it.
        where: Where that is looked for, for people; may be empty.
        lacks: What is wrong with a name without one of the two parts that it is made of; empty: it is one whole.
    """

    kind: str
    name: str
    where: str = ""
    lacks: str = ""

    def __str__(self) -> str:
        """The form, with words in the place of what is to be filled in."""
        return f"${{{self.kind}:{self.name}}}"

    def problem(self, name: str) -> str | None:
        """What is wrong with a name, whatever it stands for; or None."""
        return self.lacks if self.lacks and not all(parts(name)) else None


ENV = Form("env", "NAME")
FILE = Form("file", "PATH:KEY", "for a file with lines KEY=VALUE", "does not name a file and a key")

VAULT = Form("vault", "PATH:KEY", "for a secret in Vault", "does not name a path and a key")
KEYSTORE = Form("keystore", "NAME", "for what `rocketconnect secret set NAME` has stored")

FORMS = {form.kind: form for form in (ENV, FILE, VAULT, KEYSTORE)}
"""All forms that there are, by their kind."""

REFERENCE = re.compile(r"\$\{(" + "|".join(FORMS) + r"):([^}]+)\}")
"""A reference: its kind, and its name."""

_LOGIN = ("user", "password", "token", "api.key", "ssl.key.password")

NO_PLACE = "refers to a secret, and is no place for one: what stands here may be shown, or end up in a topic's or a file's name"
NO_PLACE_FIX = "Write the value itself. References stand in options that are secrets, such as password."
REFERENCE_FIX = f"Give a reference: {', or '.join(f'{form} {form.where}'.rstrip() for form in FORMS.values())}."


def parts(name: str) -> tuple[str, str]:
    """The place and the key in a name such as PATH:KEY; the key is what follows the last colon."""
    place, _, key = name.rpartition(":")
    return place, key


def wrong_reference(text: str) -> str | None:
    """What is wrong with the text of a secret, which must be a reference; or None. Never repeats it."""
    match = REFERENCE.fullmatch(text)
    if match is None:
        return "is a secret and was given as a literal value" if text else "is empty"
    return FORMS[match[1]].problem(match[2])


def login_is_known(config: Mapping[str, Any], keys: Iterable[str] = _LOGIN) -> bool:
    """Whether these options, as far as they are there, say who we are: a reference is looked up where the connector runs."""
    return not any(REFERENCE.search(config.get(key) or "") for key in keys)
