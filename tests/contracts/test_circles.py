"""No file imports, over however many others, a file that imports it: whatever is read can be read from below."""

from graphlib import CycleError, TopologicalSorter

import grimp

_OURS = (
    "services",
    "connectors",
    "pyspark_rocketmq",
    "rocketconnect_sdk",
    "rocketconnect_kit",
    "rocketconnect_cli",
    "rocketmq_native",
    "rocketmq_remoting",
    "bench",
    "demo",
)


def test_the_repository_has_no_circle_of_files() -> None:
    graph = grimp.build_graph(*_OURS, include_external_packages=False, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 500
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None
