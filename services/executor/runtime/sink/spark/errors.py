"""What Spark's errors say, without the hundred lines around it. Pure."""

import re

_LENGTH = 1000
_FRAME = re.compile(r"\s+at |\s*\.\.\. \d+ more|Driver stacktrace:|JVM stacktrace:")
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
