"""What is wrong with a configuration that writes objects, or files of a folder, as far as it can be seen before it runs."""

from collections.abc import Iterable

from connectors.objects.location import FOLDER
from connectors.objects.options import place_of
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.permissions.roots import writing


def folder_problems(config: Config) -> Iterable[Problem]:
    """A folder that `url` names, which may not be written, or is none."""
    place = place_of(config)
    if place.kind != FOLDER:
        return
    if reason := writing().problem(place.prefix):
        yield Problem("url", config["url"], reason, writing().fix(place.prefix))
        return
    from rocketconnect_sdk.files.checks import kind_problems, place_problems

    found = [*place_problems(place.prefix), *kind_problems(place.prefix, directory=True)]
    yield from (Problem("url", config["url"], each.reason, each.fix) for each in found)
