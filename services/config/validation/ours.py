"""Configurations of other systems' connectors, taken as ours: what is stored, checked and shown from there on is ours."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rocketconnect_kit.errors import FieldProblem
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.translations import translated


@dataclass(frozen=True, slots=True)
class Ours:
    """A configuration as one of ours.

    Attributes:
        config: What it is here; as it was given where it is ours already.
        problems: What has no counterpart, and can't be left out.
        warnings: What it became.
    """

    config: dict[str, str]
    problems: tuple[FieldProblem, ...]
    warnings: tuple[FieldProblem, ...]

    @classmethod
    def of(cls, given: Mapping[str, str]) -> "Ours":
        """Return what it is here."""
        found = translated(given)
        return cls(found.config, _fields(found.problems), _fields(found.warnings))


def _fields(problems: Iterable[Problem]) -> tuple[FieldProblem, ...]:
    return tuple(FieldProblem(each.key, each.value, each.reason, each.fix) for each in problems)
