"""No message of the product counts one of a thing in the plural."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_THINGS = (
    "records rows tasks messages letters connectors workers queues files columns partitions attempts topics tables positions lines "
    "keys changes duplicates revisions brokers problems warnings hosts batches fields values headers ranges events commits orders"
)
_TECHNICAL = "bytes characters"
"""Of what connectors and converters read there is always more than one, or it is no matter of words."""
_CONSTANT = re.compile(r"(\w+\.)*_?[A-Z][A-Z_]+( >> \d+)?")
_NAME = re.compile(r"join\(|\bnames$|\.value$")
"""What is a text, and no number."""
_FOLDERS = ("rocketconnect_cli", "services", "connectors", "rocketconnect_sdk")


def _counting(source: str, things: str) -> Iterator[tuple[int, str]]:
    """Where a text counts by itself: a number that is not the same each time, and a plural behind it."""
    plural = re.compile(rf" (?:(?:more|other|dead|bad|new) )?({'|'.join(things.split())})\b")
    logged = re.compile(rf"%[ds]{plural.pattern}")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (found := logged.search(node.value)):
            yield node.lineno, found[0]
        for first, then in zip(node.values, node.values[1:], strict=False) if isinstance(node, ast.JoinedStr) else ():
            if (
                isinstance(first, ast.FormattedValue)
                and isinstance(then, ast.Constant)
                and (found := plural.match(str(then.value)))
            ):
                counted = ast.unparse(first.value)
                if not _CONSTANT.fullmatch(counted) and not _NAME.search(counted):
                    yield first.lineno, f"{{{counted}}}{found[0]}"


def test_texts_of_the_product_count_with_the_one_helper_of_wording() -> None:
    listed = subprocess.run(["git", "ls-files", *_FOLDERS], cwd=_ROOT, check=True, capture_output=True, text=True).stdout.split()
    found = [
        f"{path}:{line}: {text}"
        for path in listed
        if path.endswith(".py") and (_ROOT / path).exists()
        for line, text in _counting(
            (_ROOT / path).read_text(encoding="utf-8"),
            f"{_THINGS} {_TECHNICAL}" if path.startswith(("rocketconnect_cli", "services")) else _THINGS,
        )
    ]
    assert found == [], "use rocketconnect_sdk.wording.counts.counted"


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ('f"{len(rows)} rows"', True),
        ('f"{count:,} dead letters"', True),
        ('f"{LIMIT} rows"', False),
        ("f\"{counted(rows, 'row')} of it\"", False),
        ('f"{name} rowsing"', False),
        ('log.info("%d rows are left", count)', True),
        ('log.info("%s left", counted(count, "row"))', False),
    ],
)
def test_it_is_seen_where_a_text_counts_by_itself(text: str, is_found: bool) -> None:
    assert bool(list(_counting(text, _THINGS))) == is_found
