"""`rocketconnect cluster`."""

from rich.table import Table

from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, table_of, with_api


@with_api
def cluster(url: UrlOption = URL, output: OutputOption = Output.TABLE) -> None:
    """Show the workers, and who holds which task."""
    with api(url) as client:
        workers = list(client.pages("/v1/workers", "workers", {"workerId": ""}))
        assignments = list(client.pages("/v1/assignments", "assignments", {"connector": ""}))

    def table() -> Table:
        held: dict[str, list[str]] = {}
        for item in assignments:
            task = "plan" if item.get("task", 0) < 0 else item.get("task", 0)
            held.setdefault(item.get("workerId", ""), []).append(f"{item['connector']}/{task}")
        rows = [
            (
                worker["workerId"],
                worker.get("address", ""),
                "alive" if worker.get("alive") else "gone",
                ", ".join(sorted(held.pop(worker["workerId"], []))),
            )
            for worker in workers
        ]
        orphans = [("-", "", "nobody", ", ".join(sorted(tasks))) for tasks in held.values()]
        return table_of(("WORKER", "ADDRESS", "LEASE", "TASKS"), rows + orphans)

    emit(output, {"workers": workers, "assignments": assignments}, table)
