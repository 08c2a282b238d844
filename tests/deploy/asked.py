"""What rules and dashboards ask Prometheus for, and what there is."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from scripts import monitoring

DEPLOY = Path(__file__).parents[2] / "deploy"
PROMETHEUS = DEPLOY / "prometheus"
GRAFANA = DEPLOY / "grafana"
_OWN = re.compile(r"\b(?:rocketconnect|rocketmq)[_:][a-z0-9_:]+")


@dataclass(frozen=True, slots=True)
class Asked:
    """A query of a panel."""

    dashboard: str
    panel: str
    expr: str


def rules(kind: str) -> Iterator[dict[str, Any]]:
    """The rules of the kind `alert` or `record`."""
    for path in sorted((PROMETHEUS / "rules").glob("*.yaml")):
        for group in yaml.safe_load(path.read_text())["groups"]:
            yield from (rule for rule in group["rules"] if kind in rule)


def dashboards() -> dict[str, dict[str, Any]]:
    """By the name of the file."""
    return {path.name: json.loads(path.read_text()) for path in sorted(GRAFANA.glob("*.json"))}


def panels(dashboard: dict[str, Any]) -> list[dict[str, Any]]:
    """Those with something in them, without the rows."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def queries() -> Iterator[Asked]:
    """All of all dashboards."""
    for name, dashboard in dashboards().items():
        for panel in panels(dashboard):
            yield from (Asked(name, panel["title"], target["expr"]) for target in panel["targets"])


def names_in(expr: str) -> set[str]:
    """Our metrics, those of brokers, and recorded series that an expression names."""
    return set(_OWN.findall(expr))


def there() -> set[str]:
    """The names of all samples that the exporter and the services have, and of those that rules record."""
    names = {rule["record"] for rule in rules("record")}
    for each in (*monitoring.of_exporter(), *monitoring.of_services(), *monitoring.of_rounds(), *monitoring.of_brokers()):
        names |= {f"{each.name}_{end}" for end in ("bucket", "sum", "count")} if each.type == "histogram" else {each.name}
    return names
