"""Columns of structs are told by their names, in one place: what is read by the places of another schema is another column."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("connectors", "pyspark_rocketmq", "rocketconnect_sdk", "services")
BY_PLACE = re.compile(
    r"zip\([^\n]*(\.fields\b[^\n]*flatten\(\)|flatten\(\)[^\n]*\.fields\b)|enumerate\([^\n]*schema\.fields\)[^\n]*\.field\("
)
NUMBERED = re.compile(r"\.field\((index|place|number|i|\d+)\)")
OF_THEIR_OWN_TYPE = {
    # They walk the type of the very structs that they read, or look their names up in it.
    "connectors/hive/names.py",
    "connectors/lakes/reading/fitting.py",
    "connectors/lakes/reading/naming.py",
    "pyspark_rocketmq/reading.py",
    "rocketconnect_sdk/columns/parts.py",
    "rocketconnect_sdk/evolution/fitting.py",
    "rocketconnect_sdk/spark/types.py",
    "services/executor/host/jobs/judging.py",
}


def test_no_struct_is_read_by_the_places_of_a_schema() -> None:
    found = []
    for path in (each for package in PACKAGES for each in (ROOT / package).rglob("*.py")):
        name, text = str(path.relative_to(ROOT)), path.read_text()
        if BY_PLACE.search(text) or (NUMBERED.search(text) and name not in OF_THEIR_OWN_TYPE):
            found.append(name)
    assert found == [], "use rocketconnect_sdk.columns.parts"
