"""What does one connector do, and what holds it up?"""

from scripts.dashboards.panels import Page, Query, lines, listed, number, states

UID = "rocketconnect-connector"
_OF = '{connector="$connector"}'


def _rate(name: str) -> Query:
    return Query(f"rate(rocketconnect_task_{name}_total{_OF}[5m])", "task {{task}}")


def _quantile(share: str, legend: str, of: str = "batch_duration", *, exemplars: bool = False) -> Query:
    buckets = f"rate(rocketconnect_task_{of}_seconds_bucket{_OF}[5m])"
    return Query(f"histogram_quantile({share}, sum by (le) ({buckets}))", legend, exemplars)


def page() -> Page:
    """The dashboard of one connector, task by task."""
    return Page(
        UID,
        "RocketConnect: connector",
        "For whoever looks after one pipeline: does it flow, how far is it, what goes wrong, where does it run?",
        [
            (
                "What is wrong",
                [
                    number(
                        "Tasks that do not run",
                        "How many of its tasks are failed, stalled or without a worker?",
                        'sum(rocketconnect_task_state{connector="$connector", state=~"FAILED|STALLED|UNASSIGNED"})',
                    ),
                    number(
                        "Lag",
                        "How many messages are not in the target yet?",
                        f"sum(rocketconnect_sink_lag_messages{_OF})",
                        bad_from=None,
                    ),
                    number(
                        "Last progress",
                        "How long ago did any of its tasks move a record?",
                        f"time() - max(rocketconnect_task_last_progress_timestamp_seconds{_OF})",
                        bad_from=None,
                        unit="s",
                    ),
                    number(
                        "Freshness",
                        "How old is the newest record that was delivered, by its source's time? No data: its records have none.",
                        f"rocketconnect:connector_freshness_seconds{_OF}",
                        bad_from=None,
                        unit="s",
                    ),
                    number(
                        "Dead letters that wait",
                        "How many dead letters has nobody replayed or given up?",
                        f"max(rocketconnect_dead_letters_waiting{_OF})",
                    ),
                    number(
                        "Dead letters, 24 h",
                        "How many records became dead letters since yesterday?",
                        f"sum(increase(rocketconnect_task_dead_letters_total{_OF}[24h]))",
                    ),
                    number(
                        "Started again, 24 h",
                        "How often was one of its tasks started again after a failure?",
                        f"sum(increase(rocketconnect_task_restarts_total{_OF}[24h]))",
                    ),
                    number(
                        "Dropped in a row",
                        "How many messages did a task drop since it kept one?",
                        f"max(rocketconnect_task_dropped_in_a_row{_OF})",
                        bad_from=100,
                    ),
                    states(
                        "States",
                        "In which state was each task, and since when?",
                        Query(f"rocketconnect_task_state{_OF} == 1", "task {{task}} {{state}}"),
                        span=16,
                    ),
                ],
            ),
            (
                "What flows",
                [
                    lines("Records in", "How much does each task read?", _rate("records_in"), unit="reqps"),
                    lines("Records out", "How much does each task deliver?", _rate("records_out"), unit="reqps"),
                    lines("Bytes out", "How many bytes does each task deliver?", _rate("bytes_out"), unit="Bps"),
                    lines(
                        "Batches",
                        "How long does a batch take from its first record to its commit?",
                        _quantile("0.5", "half of them"),
                        _quantile("0.99", "99 of 100"),
                        unit="s",
                    ),
                ],
            ),
            (
                "How far it is",
                [
                    lines(
                        "Lag of each queue",
                        "Are all queues behind, or is it one?",
                        Query(f"rocketconnect_sink_lag_messages{_OF}", "{{queue}}"),
                    ),
                    lines(
                        "Freshness of each task",
                        "How old is the newest record that each task has delivered, by its source's time?",
                        Query(f"time() - rocketconnect_task_newest_record_timestamp_seconds{_OF}", "task {{task}}"),
                        unit="s",
                    ),
                    lines(
                        "From the source to here",
                        "How long does a record take from its source's time until it is durable, or confirmed by the broker?",
                        _quantile("0.5", "half of them", "end_to_end_latency"),
                        _quantile("0.99", "99 of 100", "end_to_end_latency", exemplars=True),
                        unit="s",
                    ),
                    lines(
                        "What a source has not read",
                        "How much is left, in the unit of the source?",
                        Query(f"rocketconnect_source_remaining{_OF}", "task {{task}}"),
                    ),
                ],
            ),
            (
                "What goes wrong",
                [
                    lines(
                        "Errors and retries",
                        "Does it fail, and does it try again?",
                        Query(f"sum(rate(rocketconnect_task_errors_total{_OF}[5m]))", "errors"),
                        Query(f"sum(rate(rocketconnect_task_retries_total{_OF}[5m]))", "retries"),
                        unit="reqps",
                    ),
                    lines(
                        "Left out",
                        "How many records did not reach the target, and why?",
                        Query(f"sum(rate(rocketconnect_task_dead_letters_total{_OF}[5m]))", "dead letters"),
                        Query(f"sum(rate(rocketconnect_task_records_skipped_total{_OF}[5m]))", "skipped or filtered"),
                        Query(f"sum(rate(rocketconnect_task_duplicates_skipped_total{_OF}[5m]))", "there already"),
                        Query(f"sum(rate(rocketconnect_task_gap_messages_total{_OF}[5m]))", "gone from the queue"),
                        unit="reqps",
                    ),
                ],
            ),
            (
                "Where it runs",
                [
                    listed(
                        "Workers of its tasks",
                        "Which worker holds which task? A click leads to the worker.",
                        f"rocketconnect_task_worker_info{_OF}",
                        ["worker", "task"],
                        link="/d/rocketconnect-worker?var-worker=${__value.text}",
                    ),
                    lines(
                        "Held between stages",
                        "How many bytes wait between two stages: is it the reading or the writing that is slow?",
                        Query(f"rocketconnect_task_buffered_bytes{_OF}", "task {{task}}"),
                        unit="bytes",
                    ),
                ],
            ),
        ],
        [("connector", "label_values(rocketconnect_connector_info, connector)")],
    )
