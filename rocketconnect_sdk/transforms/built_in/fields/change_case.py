"""change_case: names of fields in another style."""

import re
import string
from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar

from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.transforms.base import ON
from rocketconnect_sdk.transforms.fields import FieldsTransform, Named, Out, kept

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)
_SEPARATORS: Mapping[str, str] = {
    "LOWER_HYPHEN": "-",
    "LOWER_UNDERSCORE": "_",
    "UPPER_UNDERSCORE": "_",
    "LOWER_CAMEL": "",
    "UPPER_CAMEL": "",
}
_FORMATS = tuple(_SEPARATORS)
_HOW = (
    "LOWER_HYPHEN is first-name, LOWER_UNDERSCORE first_name, UPPER_UNDERSCORE FIRST_NAME, LOWER_CAMEL firstName, "
    "UPPER_CAMEL FirstName."
)


def _words(name: str, style: str) -> list[str]:
    if separator := _SEPARATORS[style]:
        return name.split(separator)
    words = re.split(r"(?=[A-Z])", name)
    return words[1:] if len(words) > 1 and not words[0] else words


def _word(word: str, style: str, number: int) -> str:
    if style == "UPPER_UNDERSCORE":
        return word.translate(_UPPER)
    if style == "UPPER_CAMEL" or (style == "LOWER_CAMEL" and number):
        return word[:1].translate(_UPPER) + word[1:].translate(_LOWER)
    return word.translate(_LOWER)


def renamed(name: str, old: str, new: str) -> str:
    """A name in another style. Only the letters of ASCII change."""
    if old == new:
        return name
    return _SEPARATORS[new].join(_word(word, new, number) for number, word in enumerate(_words(name, old)))


class ChangeCase(FieldsTransform):
    """Writes the names of fields in another style. Only the letters of ASCII change."""

    name: ClassVar[str] = "change_case"
    aliases: ClassVar[Sequence[str]] = ("org.apache.rocketmq.connect.transforms.ChangeCase",)
    options: ClassVar[Sequence[Option]] = (
        ON,
        Option("from", f"The style that the names have: {_HOW}", required=True, choices=_FORMATS, example="LOWER_CAMEL"),
        Option("to", "The style that they get: one of the same.", required=True, choices=_FORMATS, example="LOWER_UNDERSCORE"),
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._renamed = partial(renamed, old=config["from"], new=config["to"])

    def fields(self, names: Sequence[Named]) -> Sequence[Out]:
        """See FieldsTransform."""
        return [kept(field, self._renamed(field[0])) for field in names]
