"""The dashboards are those that their source makes, each panel answers a question, and links lead somewhere."""

import re
from itertools import product

from scripts.dashboards.__main__ import written
from tests.deploy.asked import GRAFANA, dashboards, panels


def test_the_files_are_what_the_source_makes() -> None:
    assert {path.name: path.read_text() for path in GRAFANA.glob("*.json")} == written(), "run python -m scripts.dashboards"


def test_each_panel_has_a_title_of_its_own_and_says_which_question_it_answers() -> None:
    for dashboard in dashboards().values():
        titles = [panel["title"] for panel in panels(dashboard)]
        assert len(set(titles)) == len(titles)
        assert [panel["title"] for panel in panels(dashboard) if "?" not in panel["description"]] == []


def test_what_is_wrong_stands_first_and_fits_without_scrolling() -> None:
    for dashboard in dashboards().values():
        first, second = [panel for panel in dashboard["panels"] if panel["type"] == "row"][:2]
        assert first["title"] == "What is wrong"
        assert second["gridPos"]["y"] <= 16


def test_no_panel_stands_beyond_the_24_columns_or_over_another() -> None:
    for name, dashboard in dashboards().items():
        taken: dict[tuple[int, int], str] = {}
        for panel in dashboard["panels"]:
            place = panel["gridPos"]
            assert place["x"] + place["w"] <= 24, (name, panel["title"])
            for cell in product(range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])):
                assert taken.setdefault(cell, panel["title"]) == panel["title"], name


def test_links_lead_to_dashboards_that_there_are_with_variables_that_they_have() -> None:
    known = {made["uid"]: {each["name"] for each in made["templating"]["list"]} for made in dashboards().values()}
    for dashboard in dashboards().values():
        others = {link["url"].removeprefix("/d/") for link in dashboard["links"]}
        assert others == known.keys() - {dashboard["uid"]}
        for uid, variable in re.findall(r'"/d/([a-z-]+)\?var-(\w+)=', str(dashboard).replace("'", '"')):
            assert variable in known[uid]
