"""For whom a service asks: what it says of that beside its own proof, so that whom it asks allows no more than that role may."""

from rocketconnect_kit.access.current import IDENTITY
from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.tokens import Identity, name_problem

ASKED_BY = "rocketconnect-asked-by"
"""The name of the metadata: "ROLE NAME"."""

_ASKERS = {role.value: role for role in Role if role is not Role.WORKER}


def asked_by() -> str:
    """Return what to say of who makes the request that is being answered; "": nobody asks who calls."""
    who = IDENTITY.get()
    return "" if who is None else f"{who.role.value} {who.name}"


def asker(said: str) -> Identity | None:
    """Return who asks, as another service says; None: it says nothing that can be."""
    role, _, name = said.partition(" ")
    return Identity(name, _ASKERS[role]) if role in _ASKERS and not name_problem(name) else None
