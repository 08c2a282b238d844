"""What runs on pull requests calls what the Makefile has."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
FORMS = [path for path in sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")) if path.name != "config.yml"]


def test_each_make_of_a_workflow_is_a_target() -> None:
    called = re.findall(r"run: make ([a-z-]+)", (ROOT / ".github/workflows/test.yaml").read_text(encoding="utf-8"))
    assert "test" in called
    assert set(called) <= TARGETS


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.name)
def test_a_form_has_a_name_and_asks_each_thing_once(form: Path) -> None:
    made = yaml.safe_load(form.read_text(encoding="utf-8"))
    ids = [field["id"] for field in made["body"]]
    assert made["name"]
    assert made["description"]
    assert len(ids) == len(set(ids)) > 3
    assert all(field["attributes"]["label"] for field in made["body"])
