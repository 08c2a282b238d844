"""Who makes the call that is being answered."""

from contextvars import ContextVar

from rocketconnect_kit.access.tokens import Identity

IDENTITY: ContextVar[Identity | None] = ContextVar("identity", default=None)
"""None: nobody is asked who calls."""
