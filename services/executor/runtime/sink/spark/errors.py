"""What Spark's errors say, without the hundred lines around it, and whether they come again. Pure."""

import re

_LENGTH = 1000
_FRAME = re.compile(r"\s+at |\s*\.\.\. \d+ more|Driver stacktrace:|JVM stacktrace:")
_STATE = re.compile(r"SQLSTATE: (\w{5})")
_AGAIN = ("0A", "21", "22", "23", "42")
"""Classes of the SQL standard: what is not supported, values, constraints and statements. All others may pass."""
_NOT_THERE = ("42K03", "42P01")
"""A path, and a table: who makes them anew may be about to."""
_FOR_NOW = re.compile(
    r"No space left|Disk quota|Read-only file system|Too many open files|OutOfMemory|ExecutorLost|Lost executor|FetchFailed|"
    r"Connection (refused|reset)|ConnectException|SocketException|SocketTimeout|TimeoutException|timed out|UnknownHost|"
    r"NoRouteToHost|ClosedChannel|InterruptedException|FileNotFound|NoSuchFile|"
    r"stopped SparkContext|SparkContext (was|has been) shut down",
    re.IGNORECASE,
)
"""What a network, a worker or a disk does, whatever Spark calls the error that has it in it."""
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t]+.*\n)*(\S.*)")


def spark_error_text(error: BaseException) -> str:
    """Return the error of a Spark call in one line: what Java says, and of a Python traceback in it what it ends with."""
    text = str(error).strip() or type(error).__name__
    raised = _TRACEBACK.findall(text)
    if raised:
        return str(raised[-1]).strip()[:_LENGTH]
    lines = []
    for line in text.splitlines():
        if _FRAME.match(line):
            break
        lines.append(line.strip())
    return " ".join(filter(None, lines))[:_LENGTH]


def comes_again(error: BaseException) -> bool:
    """Whether the same records fail so each time: then to try again helps nobody."""
    from pyspark import errors

    text = str(error)
    if _FOR_NOW.search(text):
        return False
    states = _STATE.findall(text)
    # An error of a job has that of its task in it.
    if any(state in _NOT_THERE for state in states):
        return False
    if any(state.startswith(_AGAIN) for state in states):
        return True
    always = (
        errors.AnalysisException,
        errors.ArithmeticException,
        errors.ArrayIndexOutOfBoundsException,
        errors.DateTimeException,
        # A NumberFormatException is one.
        errors.IllegalArgumentException,
        errors.PySparkNotImplementedError,
        errors.PySparkTypeError,
        errors.PySparkValueError,
        errors.SparkUpgradeException,
        errors.UnsupportedOperationException,
    )
    return isinstance(error, always)
