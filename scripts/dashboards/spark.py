"""Do the Spark drivers have what they need, and where does the time of their batches go?"""

from scripts.dashboards.panels import Page, Query, lines, listed, number

UID = "rocketconnect-spark"
_DRIVER = "{{worker}} {{profile}}"
_HEAP = "rocketconnect_spark_driver_heap"
_GC = "rocketconnect_spark_driver_gc"
_STEPS = "rocketconnect_spark_step_duration_seconds"
_SLOWEST = f"histogram_quantile(0.99, sum by (connector, step, le) (rate({_STEPS}_bucket[5m])))"
_ON_SPARK = "on (connector, task) group_left () max by (connector, task) (rocketconnect_task_spark_info)"


def page() -> Page:
    """The dashboard of Spark drivers and of what sinks do on them."""
    return Page(
        UID,
        "RocketConnect: spark",
        "For whoever looks after sinks on Spark: has a driver too little memory, who shares it, and which step is slow?",
        [
            (
                "What is wrong",
                [
                    number(
                        "Fullest heap",
                        "How full is the fullest heap at its emptiest within ten minutes? From 85 % on it is too small.",
                        f"max(min_over_time({_HEAP}_used_bytes[10m]) / {_HEAP}_max_bytes)",
                        bad_from=0.85,
                        unit="percentunit",
                    ),
                    number(
                        "Collecting garbage",
                        "How much of its time does the busiest driver spend on collecting garbage?",
                        f"max(rate({_GC}_seconds_total[10m]))",
                        bad_from=0.5,
                        unit="percentunit",
                    ),
                    number(
                        "Tasks that do not run",
                        "How many tasks of sinks on Spark are stalled, or wait for another system?",
                        f'sum(rocketconnect_task_state{{state=~"STALLED|WAITING"}} * {_ON_SPARK}) or vector(0)',
                    ),
                    number(
                        "Started again, 24 h",
                        "How often was a task of a sink on Spark started again after a failure, as when its driver ended?",
                        f"sum(increase(rocketconnect_task_restarts_total[24h]) * {_ON_SPARK}) or vector(0)",
                    ),
                    number(
                        "Slowest step",
                        "How long does the slowest step of batches take, 99 of 100?",
                        f"max({_SLOWEST})",
                        bad_from=None,
                        unit="s",
                    ),
                    number(
                        "Spilled, 1 h",
                        "How much did not fit into memory within the last hour, and went over the disk?",
                        "sum(increase(rocketconnect_spark_driver_spilled_bytes_total[1h]))",
                        bad_from=None,
                        unit="bytes",
                    ),
                ],
            ),
            (
                "Memory of drivers",
                [
                    lines(
                        "Heap in use",
                        "Does what is left after each collection grow, and does it come near to the most?",
                        Query(f"{_HEAP}_used_bytes", f"used {_DRIVER}"),
                        Query(f"{_HEAP}_max_bytes", f"most {_DRIVER}"),
                        unit="bytes",
                    ),
                    lines(
                        "Heap that is taken",
                        "How much of the heap has each driver taken from its machine?",
                        Query(f"{_HEAP}_committed_bytes", _DRIVER),
                        unit="bytes",
                    ),
                    lines(
                        "Memory of Java",
                        "How much does each Java process take altogether: will the machine or its container hold it?",
                        Query("rocketconnect_spark_driver_resident_memory_bytes", _DRIVER),
                        unit="bytes",
                    ),
                    lines(
                        "Garbage",
                        "Which driver spends its time on collecting garbage?",
                        Query(f"rate({_GC}_seconds_total[5m])", _DRIVER),
                        unit="percentunit",
                    ),
                    lines(
                        "Collections",
                        "Are there few long collections, or many short ones?",
                        Query(f"rate({_GC}_seconds_total[5m]) / rate({_GC}_runs_total[5m])", f"seconds each, {_DRIVER}"),
                        unit="s",
                    ),
                    lines(
                        "Spilled",
                        "Which driver writes to disk what does not fit into memory?",
                        Query("rate(rocketconnect_spark_driver_spilled_bytes_total[5m])", _DRIVER),
                        unit="Bps",
                    ),
                ],
            ),
            (
                "Batches",
                [
                    lines(
                        "Time of steps",
                        "Which step is slow: staging in Spark, the commit, or the write that is both? 99 of 100 take so long.",
                        Query(f"topk(10, {_SLOWEST})", "{{connector}} {{step}}"),
                        unit="s",
                    ),
                    lines(
                        "Busy with steps",
                        "Which connectors write all the time, and have no room for more? 100 %: it does nothing else.",
                        Query(
                            f"topk(10, sum by (connector, task, step) (rate({_STEPS}_sum[5m])))", "{{connector}} {{task}} {{step}}"
                        ),
                        unit="percentunit",
                    ),
                    lines(
                        "Records out",
                        "How much do sinks on Spark deliver?",
                        Query(
                            f"topk(10, sum by (connector) (rate(rocketconnect_task_records_out_total[5m]) * {_ON_SPARK}))",
                            "{{connector}}",
                        ),
                        unit="reqps",
                    ),
                    lines(
                        "Records of a batch",
                        "Are batches so small that Spark plans more than it writes?",
                        Query(
                            "topk(10, sum by (connector) "
                            f"(rate(rocketconnect_task_records_out_total[5m]) * {_ON_SPARK}) / sum by (connector) "
                            f'(rate({_STEPS}_count{{step=~"stage|write"}}[5m])))',
                            "{{connector}}",
                        ),
                    ),
                    listed(
                        "Who shares a driver",
                        "Which connectors run on which driver? A click leads to the connector.",
                        "rocketconnect_task_spark_info",
                        ["connector", "task", "worker", "profile"],
                        link="/d/rocketconnect-connector?var-connector=${__value.text}",
                        span=24,
                    ),
                ],
            ),
        ],
    )
