"""Is a worker well, and what does it carry?"""

from scripts.dashboards.panels import Page, Query, lines, listed, number

UID = "rocketconnect-worker"
_HELD = 'on (connector, task) group_left (worker) rocketconnect_task_worker_info{worker="$worker"}'


def page() -> Page:
    """The dashboard of one worker."""
    return Page(
        UID,
        "RocketConnect: worker",
        "For whoever looks after machines: does the worker live, what does it carry, is its share fair?",
        [
            (
                "What is wrong",
                [
                    number(
                        "Lease",
                        "For how many seconds does its lease still hold? Below 0 its tasks have gone to others.",
                        'rocketconnect_worker_lease_expiry_timestamp_seconds{worker="$worker"} - time()',
                        bad_from=None,
                        unit="s",
                    ),
                    number("Tasks", "How many tasks does it hold?", 'rocketconnect_worker_tasks{worker="$worker"}', bad_from=None),
                    number(
                        "Tasks that do not run",
                        "How many of its tasks are failed or stalled?",
                        f'sum(rocketconnect_task_state{{state=~"FAILED|STALLED"}} * {_HELD}) or vector(0)',
                    ),
                ],
            ),
            (
                "What it carries",
                [
                    lines(
                        "Records out by connector",
                        "Which connectors keep it busy?",
                        Query(
                            f"topk(10, sum by (connector) (rate(rocketconnect_task_records_out_total[5m]) * {_HELD}))",
                            "{{connector}}",
                        ),
                        unit="reqps",
                    ),
                    lines(
                        "Tasks of all workers",
                        "Is its share fair?",
                        Query("rocketconnect_worker_tasks", "{{worker}}"),
                    ),
                    listed(
                        "Its tasks",
                        "What does it hold? A click leads to the connector.",
                        'rocketconnect_task_worker_info{worker="$worker"}',
                        ["connector", "task"],
                        link="/d/rocketconnect-connector?var-connector=${__value.text}",
                    ),
                    lines(
                        "Assignments of all workers",
                        "How often does work change hands, and is any without a worker?",
                        Query("rate(rocketconnect_assignment_changes_total[5m])", "changes a second"),
                        Query('sum(rocketconnect_assignments{state="unowned"}) or vector(0)', "without a worker"),
                    ),
                ],
            ),
        ],
        [("worker", "label_values(rocketconnect_worker_tasks, worker)")],
    )
