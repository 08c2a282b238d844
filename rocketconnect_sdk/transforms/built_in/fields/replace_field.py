"""replace_field: keeps, leaves out and renames fields."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.transforms.base import ON
from rocketconnect_sdk.transforms.defaults import REPLACE_NULL
from rocketconnect_sdk.transforms.fields import FieldsTransform, Named, Out, kept, nested
from rocketconnect_sdk.transforms.paths import PATHS


def _renames_problem(renames: Sequence[str]) -> str | None:
    wrong = [each for each in renames if each.count(":") != 1 or not all(part.strip() for part in each.split(":"))]
    return f"has {', '.join(map(repr, wrong[:5]))} instead of old:new" if wrong else None


class ReplaceField(FieldsTransform):
    """Keeps some fields, leaves out others, and renames fields. Fields that are named and not there do nothing."""

    name: ClassVar[str] = "replace_field"
    aliases: ClassVar[Sequence[str]] = ("org.apache.kafka.connect.transforms.ReplaceField",)
    options: ClassVar[Sequence[Option]] = (
        ON,
        Option("include", "The fields that are kept, separated by commas; empty: all.", Kind.LIST, "", aliases=("whitelist",)),
        Option(
            "exclude",
            f"The fields that are left out, separated by commas; {PATHS}.",
            Kind.LIST,
            "",
            aliases=("blacklist",),
            example="password",
        ),
        Option(
            "renames",
            "Names that fields get: old:new, separated by commas.",
            Kind.LIST,
            "",
            check=_renames_problem,
            fix="Write old:new, several with commas: id:order_id,sum:total.",
        ),
        REPLACE_NULL,
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._excluded = dict.fromkeys(config["exclude"])
        self._renames = {old.strip(): new.strip() for old, new in (each.split(":") for each in config["renames"])}

    @classmethod
    def check(cls, config: Config) -> Iterable[Problem]:
        """See Transform."""
        if not (config["include"] or config["exclude"] or config["renames"]):
            yield Problem("", "", "says neither include nor exclude nor renames, so it would do nothing", "Give one of them.")

    def fields(self, names: Sequence[Named]) -> Sequence[Out]:
        """See FieldsTransform."""
        include = self.config["include"]
        outs = nested(names, self._excluded, _change)
        return [replace(out, name=self._renames.get(out.name, out.name)) for out in outs if not include or out.name in include]


def _change(names: Sequence[Named], excluded: Mapping[str, None]) -> Sequence[Out]:
    return [kept(field) for field in names if field[0] not in excluded]
