"""What dashboards are made of: panels by the question that they answer, in the form of Grafana's own builders."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import prometheus, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.models import common, dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

SOURCE = dashboard.DataSourceRef(type_val="prometheus", uid="${datasource}")

Builder = stat.Panel | statetimeline.Panel | table.Panel | timeseries.Panel
Unit = Literal["short", "reqps", "Bps", "bytes", "s", "percentunit"]


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked of Prometheus.

    Args:
        expr: The expression.
        legend: What its series are called in the panel: `{{label}}` stands for a label's value.
        exemplars: Traced records are shown as points that lead to their traces.
    """

    expr: str
    legend: str = "__auto"
    exemplars: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A dashboard: its panels stand in rows that have a title.

    Args:
        uid: By which others link to it: `/d/UID`.
        title: Its title.
        about: Whom it helps with what.
        rows: By title the panels of each row.
        variables: What its user chooses, by name: the query that gives the choices.
    """

    uid: str
    title: str
    about: str
    rows: Sequence[tuple[str, Sequence[Builder]]]
    variables: Sequence[tuple[str, str]] = ()


def number(title: str, question: str, expr: str, *, bad_from: float | None = 1, unit: Unit = "short", span: int = 4) -> stat.Panel:
    """One number, red from `bad_from` on. None: it is never red."""
    steps = [dashboard.Threshold(value=None, color="green")]
    if bad_from is not None:
        steps.append(dashboard.Threshold(value=bad_from, color="red"))
    limits = builders.ThresholdsConfig().mode(dashboard.ThresholdsMode.ABSOLUTE).steps(steps)
    made = stat.Panel().title(title).description(question).unit(unit).thresholds(limits).no_value("no data").span(span).height(4)
    made.color_mode(common.BigValueColorMode.BACKGROUND if bad_from is not None else common.BigValueColorMode.NONE)
    made.graph_mode(common.BigValueGraphMode.NONE)
    made.reduce_options(common_builders.ReduceDataOptions().calcs(["lastNotNull"]))
    return made.with_target(prometheus.Dataquery().expr(expr).instant().ref_id("A").datasource(SOURCE))


def services_away() -> stat.Panel:
    """How much of the control plane is missing."""
    away = 'count(max by (service) (rocketconnect_up{service!="executor"}) == 0) or vector(0)'
    return number("Services away", "How many services do not answer?", away)


def lines(title: str, question: str, *queries: Query, unit: Unit = "short", span: int = 12) -> timeseries.Panel:
    """Series over time."""
    made = timeseries.Panel().title(title).description(question).unit(unit).min(0).span(span).height(8)
    made.legend(
        common_builders.VizLegendOptions().display_mode(common.LegendDisplayMode.LIST).placement(common.LegendPlacement.BOTTOM)
    )
    made.tooltip(common_builders.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI).sort(common.SortOrder.DESCENDING))
    return made.targets([_range(query, chr(ord("A") + place)) for place, query in enumerate(queries)])


def states(title: str, question: str, query: Query, span: int = 24) -> statetimeline.Panel:
    """When each series was there."""
    made = statetimeline.Panel().title(title).description(question).span(span).height(8)
    made.show_value(common.VisibilityMode.NEVER).merge_values(merge_values=True)
    return made.targets([_range(query, "A")])


def listed(
    title: str,
    question: str,
    expr: str,
    columns: Sequence[str],
    *,
    value: str = "",
    unit: Unit = "short",
    link: str = "",
    span: int = 12,
) -> table.Panel:
    """A row for each series as it is now: these labels as columns, and its value where that has a name.

    `link`: where a click on the first column leads; `${__value.text}` stands for what it says.
    """
    made = table.Panel().title(title).description(question).unit(unit).span(span).height(8)
    places = {name: place for place, name in enumerate((*columns, *(["Value"] if value else [])))}
    options = {"include": {"pattern": "|".join(f"^{name}$" for name in places)}}
    made.with_transformation(dashboard.DataTransformerConfig(id_val="filterFieldsByName", options=options))
    renamed = {"Value": value} if value else {}
    arranged = {"indexByName": places, "renameByName": renamed, "excludeByName": {}}
    made.with_transformation(dashboard.DataTransformerConfig(id_val="organize", options=arranged))
    if link:
        leads = {"title": "${__value.text}", "url": link}
        made.override_by_name(columns[0], [dashboard.DynamicConfigValue(id_val="links", value=[leads])])
    query = prometheus.Dataquery().expr(expr).instant().format(PromQueryFormat.TABLE).ref_id("A").datasource(SOURCE)
    return made.with_target(query)


def dashboard_of(page: Page, others: Sequence[Page]) -> dashboard.Dashboard:
    """The dashboard as Grafana has it; it links to the others."""
    made = builders.Dashboard(page.title).uid(page.uid).description(page.about).tags(["rocketconnect"])
    made.time("now-1h", "now").refresh("30s").tooltip(dashboard.DashboardCursorSync.CROSSHAIR).readonly()
    made.with_variable(builders.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
    for name, query in page.variables:
        choice = builders.QueryVariable(name).label(name).datasource(SOURCE).query(query)
        choice.refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED).sort(dashboard.VariableSort.ALPHABETICAL_ASC)
        made.with_variable(choice.multi(multi=False).include_all(include_all=False))
    for other in others:
        if other.uid != page.uid:
            link = builders.DashboardLink(other.title).type(dashboard.DashboardLinkType.LINK).url(f"/d/{other.uid}")
            made.link(link.keep_time(keep_time=True).include_vars(include_vars=True))
    for title, panels in page.rows:
        made.with_row(builders.Row(title))
        for panel in panels:
            made.with_panel(panel.datasource(SOURCE))
    return made.build()


def _range(query: Query, name: str) -> prometheus.Dataquery:
    made = prometheus.Dataquery().expr(query.expr).legend_format(query.legend).range().ref_id(name).datasource(SOURCE)
    return made.exemplar(query.exemplars) if query.exemplars else made
