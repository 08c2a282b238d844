"""The pictures of dashboards in docs/monitoring.md are of today's dashboards, small, and made of what a Prometheus answers."""

import math
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from scripts.pictures.drawing import Series, draw, said
from scripts.pictures.shown import FOLDER, MOST_BYTES, PICTURES, Picture
from tests.deploy.asked import dashboards


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_picture_shows_the_panels_that_the_dashboard_has_now_and_is_small(picture: Picture) -> None:
    path = FOLDER / f"{picture.name}.png"
    assert path.stat().st_size <= MOST_BYTES
    with Image.open(path) as image:
        shown = image.info["Description"]
    assert shown == picture.titles(dashboards()[f"{picture.dashboard}.json"]), "run python -m scripts.pictures"


def test_there_is_no_picture_that_nothing_makes() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{picture.name}.png" for picture in PICTURES}


def test_a_picture_asks_what_its_panels_ask_and_draws_what_is_not_there_too(tmp_path: Path) -> None:
    asked = {}

    def ask(expr: str, whole: bool) -> list[Series]:
        asked[expr] = whole
        return [Series({"connector": "c", "task": "0"}, [0, 60, 120], [1, math.nan, 3])] if len(asked) % 2 else []

    picture = Picture("c", "connector", ("What is wrong", "How far it is", "Where it runs"), "", {"connector": "c's"})
    dashboard = dashboards()["connector.json"]
    draw(picture, dashboard, ask, tmp_path / "c.png")
    wanted = {
        target["expr"].replace("$connector", "c's"): panel["type"] in {"timeseries", "state-timeline"}
        for row in picture.panels(dashboard).values()
        for panel in row
        for target in panel["targets"]
    }
    assert asked == wanted
    with Image.open(tmp_path / "c.png") as image:
        assert len(image.getcolors() or ()) > 5


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "s", "0 s"),
        (90, "s", "1.5 min"),
        (0.012, "s", "12 ms"),
        (0.5, "percentunit", "50 %"),
        (2048, "bytes", "2 KiB"),
        (1500, "Bps", "1.5 kB/s"),
        (0, "reqps", "0 /s"),
        (1_234_567, "short", "1.23 M"),
        (math.nan, "short", "-"),
    ],
)
def test_values_are_told_with_their_units(value: float, unit: str, text: str) -> None:
    assert said(value, unit) == text


@pytest.mark.slow
@pytest.mark.rocketmq
@pytest.mark.e2e
def test_the_pictures_are_made_of_a_run(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scripts.pictures", "--seconds", "20", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert {path.name for path in tmp_path.iterdir()} == {f"{picture.name}.png" for picture in PICTURES}
