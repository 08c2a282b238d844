"""Write deploy/grafana again: `python -m scripts.dashboards`."""

import json
import sys
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from scripts.dashboards import connector, overview, rocketmq, services, spark, worker
from scripts.dashboards.panels import Page, dashboard_of

FOLDER = Path(__file__).parents[2] / "deploy/grafana"


def pages() -> list[Page]:
    """All of them, in their order."""
    return [module.page() for module in (overview, connector, worker, services, spark, rocketmq)]


def written() -> dict[str, str]:
    """By name the text of each file."""
    all_pages = pages()
    made = {page.uid.removeprefix("rocketconnect-"): dashboard_of(page, all_pages) for page in all_pages}
    return {f"{name}.json": json.dumps(each, cls=JSONEncoder, indent=2, sort_keys=True) + "\n" for name, each in made.items()}


def main() -> int:
    """Write them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in written().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"deploy/grafana/{name} written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
