"""Commands that are not there: which one is meant."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

from typer.core import TyperGroup

_LIKE_OWN = 0.6
_LIKE_OTHERS = 0.8
"""The words of other groups are many, and short ones are like each other."""
_AS_LIKE = 0.1


class Commands(TyperGroup):
    """A group of commands. To a word that is none of them it answers with the nearest ones, its own and those of other groups."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """See TyperGroup."""
        word = args[0]
        if not ctx.resilient_parsing and word[:1].isalnum() and self.get_command(ctx, word) is None:
            meant = ", ".join(map(repr, _nearest(word, _commands(self, ctx.find_root()))))
            ctx.fail(f"no command {word!r}: " + (f"did you mean {meant}?" if meant else f"see `{ctx.command_path} --help`"))
        return super().resolve_command(ctx, args)


def _commands(group: TyperGroup, root: Any) -> Iterator[tuple[str, str, float]]:
    """Commands: the word that is compared, what is suggested, and how like they must be."""
    yield from ((name, name, _LIKE_OWN) for name in group.commands)
    before = "" if root.command is group else f"{root.info_name} "
    for name, command in root.command.commands.items():
        if command is group:
            continue
        if before:
            yield name, f"{before}{name}", _LIKE_OTHERS
        if isinstance(command, TyperGroup):
            yield from ((word, f"{before}{name} {word}", _LIKE_OTHERS) for word in command.commands)


def _nearest(word: str, commands: Iterator[tuple[str, str, float]]) -> list[str]:
    """Those that are the most like it, the nearest first; where the group's own are about as like as others, these alone."""
    likeness = ((SequenceMatcher(None, word.lower(), name).ratio(), suggested, least) for name, suggested, least in commands)
    near = sorted((each for each in likeness if each[0] >= each[2]), key=lambda each: -each[0])
    best = [(suggested, least) for ratio, suggested, least in near if ratio > near[0][0] - _AS_LIKE]
    own = [suggested for suggested, least in best if least == _LIKE_OWN]
    return own or [suggested for suggested, _ in best]
