"""What is told of Spark's errors."""

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import errors

from services.executor.runtime.sink.spark.errors import comes_again, spark_error_text

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


@pytest.mark.parametrize(
    "error",
    [
        errors.AnalysisException("[COLUMN_ALREADY_EXISTS] The column `name` already exists. SQLSTATE: 42711"),
        errors.AnalysisException("no state"),
        errors.ParseException("[PARSE_SYNTAX_ERROR] Syntax error at or near 'x'. SQLSTATE: 42601"),
        errors.IllegalArgumentException('Field "x" does not exist.'),
        errors.NumberFormatException("[CAST_INVALID_INPUT] The value 'x'"),
        errors.ArithmeticException("[DIVIDE_BY_ZERO] Division by zero."),
        errors.DateTimeException("[CAST_INVALID_INPUT]"),
        errors.ArrayIndexOutOfBoundsException("[INVALID_ARRAY_INDEX]"),
        errors.UnsupportedOperationException("not that"),
        errors.SparkUpgradeException("[INCONSISTENT_BEHAVIOR_CROSS_VERSION.WRITE_ANCIENT_DATETIME]"),
        errors.PySparkTypeError("[CANNOT_ACCEPT_OBJECT_IN_TYPE]"),
        errors.PySparkValueError("[AXIS_LENGTH_MISMATCH]"),
        errors.PySparkNotImplementedError("[NOT_IMPLEMENTED]"),
        # The error of a job says of itself that it could not write, and what its task says.
        Py4JError("[TASK_WRITE_FAILED] SQLSTATE: 58030 Caused by: SparkArithmeticException: [DIVIDE_BY_ZERO] SQLSTATE: 22012"),
        Py4JError("SparkRuntimeException: [NOT_NULL_ASSERT_VIOLATION] SQLSTATE: 42000"),
    ],
    ids=lambda error: f"{type(error).__name__}: {error}"[:60],
)
def test_an_error_of_the_records_or_the_table_comes_again(error: Exception) -> None:
    assert comes_again(error)


@pytest.mark.parametrize(
    "error",
    [
        Py4JError("An error occurred while calling o1.save"),
        errors.PythonException("ModuleNotFoundError"),
        errors.QueryExecutionException("job aborted"),
        errors.UnknownException("?"),
        errors.SparkRuntimeException("SQLSTATE: XX000"),
        Py4JError("[TASK_WRITE_FAILED] Task failed while writing rows SQLSTATE: 58030"),
        Py4JError("[TASK_WRITE_FAILED] SQLSTATE: 58030 Caused by: java.io.IOException: No space left on device"),
        Py4JError("Job aborted due to stage failure: ExecutorLostFailure (executor 1 exited) SQLSTATE: 22012"),
        Py4JError("FetchFailed(BlockManagerId(1, host))"),
        Py4JError("java.net.ConnectException: Connection refused"),
        Py4JError("java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext."),
        Py4JError("java.lang.OutOfMemoryError: Java heap space"),
        # What Spark says in the place of a metastore that is away.
        errors.AnalysisException("HiveException: Unable to connect: Connection refused"),
        errors.IllegalArgumentException("java.net.UnknownHostException: store"),
        errors.AnalysisException("[PATH_NOT_FOUND] Path does not exist SQLSTATE: 42K03"),
        errors.AnalysisException("[TABLE_OR_VIEW_NOT_FOUND] SQLSTATE: 42P01"),
    ],
    ids=lambda error: f"{type(error).__name__}: {error}"[:60],
)
def test_an_error_of_the_moment_is_tried_again(error: Exception) -> None:
    assert not comes_again(error)
