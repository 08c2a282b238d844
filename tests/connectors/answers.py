"""Answers of commits that are lost."""

from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from rocketconnect_sdk.errors import RetriableError

if TYPE_CHECKING:
    from collections.abc import Callable


def lose_an_answer(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, *, written: bool) -> None:
    """The next call of a function has no answer, though what it does was done where `written`."""
    does: Callable[..., None] = getattr(module, name)

    def lost(*args: object) -> None:
        monkeypatch.setattr(module, name, does)
        if written:
            does(*args)
        msg = "the answer is lost"
        raise RetriableError(msg)

    monkeypatch.setattr(module, name, lost)
