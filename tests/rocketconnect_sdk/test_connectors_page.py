"""docs/connectors.md names every option, with what the code says of it."""

from pathlib import Path

import pytest

from rocketconnect_sdk.connector_options import direct_options, sink_options, source_options
from rocketconnect_sdk.converters import BUILT_IN, converter_class
from rocketconnect_sdk.loader import catalogue
from rocketconnect_sdk.options import Option
from rocketconnect_sdk.source import Source

PAGE = (Path(__file__).parents[2] / "docs" / "connectors.md").read_text()


def every_option() -> list[tuple[str, Option]]:
    found = [("direct", option) for option in direct_options() if not option.key.startswith(("source.", "sink."))]
    for name, connector in catalogue().connectors.items():
        options = source_options(connector) if isinstance(connector, Source) else sink_options(connector)
        found += [(name, option) for option in options if option.key != "engine"]
    return found


@pytest.mark.parametrize(
    ("connector", "option"), every_option(), ids=lambda given: given.key if isinstance(given, Option) else given
)
def test_the_page_says_what_an_option_does(connector: str, option: Option) -> None:
    assert f"| `{option.key}`" in PAGE, f"{connector}: {option.key} is missing"
    assert option.doc.replace("|", "\\|") in PAGE, f"{connector}: what {option.key} does has changed"


def test_the_page_names_connectors_and_converters() -> None:
    for name in (*catalogue().connectors, *BUILT_IN):
        assert f"`{name}`" in PAGE
    for name in BUILT_IN:
        for option in converter_class(name).options:
            assert f"`{option.key}`" in PAGE
