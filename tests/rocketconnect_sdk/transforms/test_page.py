"""The configurations that docs/transforms.md shows."""

import re
from pathlib import Path

from rocketconnect_sdk.transforms.chain import make

PAGE = (Path(__file__).parents[3] / "docs" / "transforms.md").read_text()


def test_the_examples_of_the_page_are_right() -> None:
    examples = re.findall(r"^```properties\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(examples) >= 2
    for example in examples:
        pairs = dict(line.split("=", 1) for line in example.splitlines() if line.strip())
        assert make(pairs)
