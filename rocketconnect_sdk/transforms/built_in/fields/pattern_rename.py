"""pattern_rename: other names of fields, by a regular expression."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from rocketconnect_sdk.configuration.patterns import all_replaced, compiled, pattern_problem, replacement_problem, template
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.transforms.base import ON
from rocketconnect_sdk.transforms.fields import FieldsTransform, Named, Out, kept

_FLAGS: Mapping[str, str] = {
    "CASE_INSENSITIVE": "i",
    "MULTILINE": "m",
    "DOTALL": "s",
    "COMMENTS": "x",
    "UNICODE_CASE": "u",
    "UNICODE_CHARACTER_CLASS": "U",
}
"""By name the letter of each."""
_LITERAL = "LITERAL"


def _flags_problem(flags: Sequence[str]) -> str | None:
    unknown = [flag for flag in flags if flag not in _FLAGS and flag != _LITERAL]
    return f"has {', '.join(unknown)}, which is not known" if unknown else None


def _compiled(config: Config) -> re.Pattern[str]:
    flags = {*config["field.pattern.flags"]}
    letters = {_FLAGS[flag] for flag in flags - {_LITERAL}}
    if _LITERAL in flags:
        # Of the others only those of case mean anything then.
        return compiled(re.escape(config["field.pattern"]), "".join(letters & {"i", "u"}))
    return compiled(config["field.pattern"], "".join(letters))


class PatternRename(FieldsTransform):
    """Replaces in the names of fields every part that matches a regular expression.

    Java's CANON_EQ and UNIX_LINES are refused.
    """

    name: ClassVar[str] = "pattern_rename"
    aliases: ClassVar[Sequence[str]] = ("org.apache.rocketmq.connect.transforms.PatternRename",)
    options: ClassVar[Sequence[Option]] = (
        ON,
        Option(
            "field.pattern",
            "The regular expression (Java's) for the parts that are replaced.",
            required=True,
            check=pattern_problem,
            fix="Write one, such as ^prefix_",
            example="^old_",
        ),
        Option(
            "field.pattern.flags",
            f"How it is read, separated by commas: {', '.join((*_FLAGS, _LITERAL))}.",
            Kind.LIST,
            "",
            check=_flags_problem,
            fix=f"Use some of {', '.join((*_FLAGS, _LITERAL))}.",
        ),
        Option("field.replacement", "What they become; $1 stands for the first group of the expression.", default=""),
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._pattern = _compiled(config)
        self._template = template(self._pattern, config["field.replacement"])

    @classmethod
    def check(cls, config: Config) -> Iterable[Problem]:
        """See Transform."""
        try:
            pattern = _compiled(config)
        except re.error as error:
            fix = "Write it so that it is right with these flags."
            reason = f"is with these flags no regular expression of Java that is known here: {error}"
            yield Problem("field.pattern", config["field.pattern"][:200], reason, fix)
            return
        problem = replacement_problem("field.replacement", pattern, config["field.replacement"])
        if problem is not None:
            yield problem

    def fields(self, names: Sequence[Named]) -> Sequence[Out]:
        """See FieldsTransform."""
        return [kept(field, all_replaced(self._pattern, self._template, field[0])) for field in names]
