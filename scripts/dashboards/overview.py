"""Is anything wrong, and where?"""

from scripts.dashboards.panels import Page, Query, lines, listed, number, services_away

UID = "rocketconnect-overview"
_CONNECTOR = "/d/rocketconnect-connector?var-connector=${__value.text}"
_NOT_WELL = 'rocketconnect_connector_state{state!~"RUNNING|IDLE|PAUSED|STOPPED"} == 1'


def _tasks(state: str) -> str:
    return f'sum(rocketconnect_task_state{{state="{state}"}}) or vector(0)'


def page() -> Page:
    """The dashboard from which all others are reached."""
    return Page(
        UID,
        "RocketConnect: overview",
        "For whoever is called: is anything wrong, since when, and where does it go on?",
        [
            (
                "What is wrong",
                [
                    number("Failed tasks", "How many tasks have ended with an error that somebody must look at?", _tasks("FAILED")),
                    number("Stalled tasks", "How many tasks move nothing although they could?", _tasks("STALLED")),
                    number("Tasks without a worker", "How many tasks does nobody run?", _tasks("UNASSIGNED")),
                    number(
                        "Lost workers", "How many workers have let their lease end?", 'sum(rocketconnect_workers{state="lost"})'
                    ),
                    services_away(),
                    number(
                        "Dead letters, 24 h",
                        "How many records became dead letters since yesterday?",
                        "sum(increase(rocketconnect_task_dead_letters_total[24h])) or vector(0)",
                    ),
                    number(
                        "Dead letters that wait",
                        "How many dead letters has nobody replayed or given up?",
                        "sum(rocketconnect_dead_letters_waiting) or vector(0)",
                    ),
                    number(
                        "Lag not known",
                        "Of how many sinks does nobody know how far they are behind?",
                        "count(rocketconnect_connector_lag_known == 0) or vector(0)",
                    ),
                    listed(
                        "Alerts that fire",
                        "What does Prometheus say is wrong? Each alert has its section in docs/alerts.md.",
                        'ALERTS{alertname=~"RocketConnect.*", alertstate="firing"}',
                        ["alertname", "severity", "connector", "task", "service"],
                        span=8,
                    ),
                    listed(
                        "Connectors that are not well",
                        "Which connectors neither run nor were stopped by somebody? A click leads to the connector.",
                        _NOT_WELL,
                        ["connector", "state"],
                        link=_CONNECTOR,
                        span=8,
                    ),
                ],
            ),
            (
                "What flows",
                [
                    lines(
                        "Records in",
                        "How much do the ten busiest connectors read?",
                        Query("topk(10, rocketconnect:connector_records_in:rate5m)", "{{connector}}"),
                        unit="reqps",
                    ),
                    lines(
                        "Records out",
                        "How much do the ten busiest connectors deliver?",
                        Query("topk(10, rocketconnect:connector_records_out:rate5m)", "{{connector}}"),
                        unit="reqps",
                    ),
                    lines(
                        "Lag of sinks",
                        "Which sinks are furthest behind, in messages, and do they catch up?",
                        Query("topk(10, rocketconnect:connector_lag_messages:sum)", "{{connector}}"),
                    ),
                    lines(
                        "Freshness",
                        "Which connectors have delivered nothing new for longest, by their sources' times?",
                        Query("topk(10, rocketconnect:connector_freshness_seconds)", "{{connector}}"),
                        unit="s",
                    ),
                    lines(
                        "From the source to here",
                        "Which connectors take longest from the source's time of a record, 99 of 100?",
                        Query("topk(10, rocketconnect:connector_end_to_end_latency_seconds:p99)", "{{connector}}"),
                        unit="s",
                    ),
                    lines(
                        "What sources have not read",
                        "Which sources have most left to read, each in its unit?",
                        Query("topk(10, sum by (connector) (rocketconnect_source_remaining))", "{{connector}}"),
                    ),
                    lines(
                        "Errors",
                        "Which connectors fail and try again?",
                        Query("topk(10, rocketconnect:connector_errors:rate5m > 0)", "{{connector}}"),
                        unit="reqps",
                    ),
                    lines(
                        "Dead letters, each 10 minutes",
                        "Which connectors give records to their dead-letter topics?",
                        Query("topk(10, rocketconnect:connector_dead_letters:increase10m > 0)", "{{connector}}"),
                    ),
                ],
            ),
            (
                "What there is",
                [
                    lines(
                        "Tasks by state",
                        "How many tasks are in which state?",
                        Query("sum by (state) (rocketconnect_task_state) > 0", "{{state}}"),
                    ),
                    lines(
                        "Workers",
                        "How many workers live, and how many are lost?",
                        Query("rocketconnect_workers", "{{state}}"),
                    ),
                ],
            ),
        ],
    )
