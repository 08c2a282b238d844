"""What is told of Spark's errors."""

import pytest

from services.executor.runtime.sink.spark.errors import spark_error_text

JAVA = """An error occurred while calling X.
: org.apache.spark.SparkException: Could not parse Master URL: 'local[many]'
\tat org.apache.spark.SparkContext$.org$apache$spark$SparkContext$$createTaskScheduler(SparkContext.scala:3309)
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""
PYTHON = """An error occurred while calling X.
: org.apache.spark.SparkException: Job aborted: Traceback (most recent call last):
  File "worker.py", line 3386, in main
    process()
    ^^^^^^^^^
ModuleNotFoundError: No module named 'lines'

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:645)
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            JAVA,
            "An error occurred while calling X. : org.apache.spark.SparkException: Could not parse Master URL: 'local[many]'",
        ),
        (PYTHON, "ModuleNotFoundError: No module named 'lines'"),
        ("", "ValueError"),
        ("x" * 5000, "x" * 1000),
    ],
)
def test_the_line_that_says_what_was_wrong_is_told(text: str, told: str) -> None:
    assert spark_error_text(ValueError(text)) == told
