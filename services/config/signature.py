"""Who changes a connector and why: what the caller says, and what its connection proves. Pure."""

from dataclasses import dataclass

from rocketconnect_kit.errors import FieldProblem

MAXIMUM_AUTHOR = 128
MAXIMUM_REASON = 1_000


@dataclass(frozen=True, slots=True)
class Signature:
    """What is kept with each change.

    Attributes:
        author: who did it.
        on_behalf_of: for whom, as an author that proved its name said; "" when nobody else was named.
        reason: why, "" when nothing was said.
    """

    author: str
    on_behalf_of: str = ""
    reason: str = ""

    def __str__(self) -> str:
        """Return who, for people: "alice", or "alice via gateway" when only the gateway has proved its name."""
        return f"{self.on_behalf_of} via {self.author}" if self.on_behalf_of else self.author or "somebody"


def signature(said: str, reason: str, *, proved: str, address: str) -> Signature:
    """Return who signs: the name that was proved wins over what was said, which wins over the address."""
    if proved:
        return Signature(proved[:MAXIMUM_AUTHOR], said if said != proved else "", reason)
    return Signature(said or address[:MAXIMUM_AUTHOR], "", reason)


def signature_problems(author: str, reason: str) -> list[FieldProblem]:
    """Return what is wrong with what a caller says of itself."""
    problems = []
    if len(author) > MAXIMUM_AUTHOR or not author.isprintable():
        fix = f"use at most {MAXIMUM_AUTHOR} printable characters, such as name@host"
        problems.append(FieldProblem("author", _shown(author), "is not a name", fix))
    if len(reason) > MAXIMUM_REASON or not reason.replace("\n", "").isprintable():
        fix = f"use at most {MAXIMUM_REASON:,} printable characters; put what is longer elsewhere and name the place"
        problems.append(FieldProblem("reason", _shown(reason), "is not a short text", fix))
    return problems


def shortened_reason(text: str) -> str:
    """Return what fits into the history of an error that was not written for it."""
    return "".join(character if character.isprintable() or character == "\n" else "?" for character in text[:MAXIMUM_REASON])


def _shown(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text[:100])
