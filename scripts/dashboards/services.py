"""Does the control plane answer?"""

from scripts.dashboards.panels import Page, Query, lines, listed, number, services_away

UID = "rocketconnect-services"
_SLOWEST = "histogram_quantile(0.99, sum by (method, le) (rate(rocketconnect_rpc_duration_seconds_bucket[5m])))"
_FAILED = 'code!~"OK|CANCELLED|NOT_FOUND"'


def page() -> Page:
    """The dashboard of config, position, state, cluster, executors and the gateway."""
    return Page(
        UID,
        "RocketConnect: services",
        "For whoever runs the control plane: which service is away, slow, without a leader or without its store?",
        [
            (
                "What is wrong",
                [
                    services_away(),
                    number(
                        "Services without a leader",
                        "In how many services does no replica take calls?",
                        "count(max by (service) (rocketconnect_leading) == 0) or vector(0)",
                    ),
                    number(
                        "Without what they need",
                        "How many processes cannot reach their store, or another service?",
                        "count(rocketconnect_dependency_healthy == 0) or vector(0)",
                    ),
                    number(
                        "Time of a scrape",
                        "How long does the exporter take to ask all services?",
                        "max(rocketconnect_exporter_scrape_duration_seconds)",
                        bad_from=8,
                        unit="s",
                    ),
                ],
            ),
            (
                "Calls",
                [
                    lines(
                        "Calls",
                        "How much is each service asked?",
                        Query("sum by (service) (rate(rocketconnect_rpc_calls_total[5m]))", "{{service}}"),
                        unit="reqps",
                    ),
                    lines(
                        "Calls that fail",
                        "Which calls fail, and how?",
                        Query(
                            f"topk(10, sum by (method, code) (rate(rocketconnect_rpc_calls_total{{{_FAILED}}}[5m])) > 0)",
                            "{{method}} {{code}}",
                        ),
                        unit="reqps",
                    ),
                    lines(
                        "Time of calls",
                        "Which calls are slow? 99 of 100 take at most so long.",
                        Query(
                            f"topk(10, {_SLOWEST})",
                            "{{method}}",
                        ),
                        unit="s",
                    ),
                    lines(
                        "Calls that are open",
                        "Do calls pile up?",
                        Query("sum by (service) (rocketconnect_rpc_calls_running)", "{{service}}"),
                    ),
                ],
            ),
            (
                "Processes",
                [
                    lines(
                        "Memory",
                        "Which process grows?",
                        Query('process_resident_memory_bytes{job=~"rocketconnect.*"}', "{{service}} {{instance}}"),
                        unit="bytes",
                    ),
                    lines(
                        "Processor",
                        "Which process is busy, in cores?",
                        Query('rate(process_cpu_seconds_total{job=~"rocketconnect.*"}[5m])', "{{service}} {{instance}}"),
                    ),
                    lines(
                        "Open files",
                        "How near is a process to the number of files that it may have open?",
                        Query(
                            'process_open_fds{job=~"rocketconnect.*"} / process_max_fds{job=~"rocketconnect.*"}',
                            "{{service}} {{instance}}",
                        ),
                        unit="percentunit",
                    ),
                ],
            ),
            (
                "What they live on",
                [
                    lines(
                        "Disk that is used",
                        "When will a disk be full that a service writes to?",
                        Query(
                            "1 - rocketconnect_disk_free_bytes / rocketconnect_disk_size_bytes", "{{service}} {{instance}} {{path}}"
                        ),
                        unit="percentunit",
                    ),
                    lines(
                        "Memory of container or machine",
                        "How near is it to the memory that it may use, with all its processes?",
                        Query("rocketconnect_memory_used_bytes / rocketconnect_memory_limit_bytes", "{{service}} {{instance}}"),
                        unit="percentunit",
                    ),
                    listed(
                        "Certificates",
                        "Which certificates end first, and in how long?",
                        "sort(rocketconnect_certificate_expiry_timestamp_seconds - time())",
                        ["service", "instance", "setting", "path"],
                        value="ends in",
                        unit="s",
                    ),
                ],
            ),
        ],
    )
