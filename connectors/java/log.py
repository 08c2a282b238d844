"""What Java says on its standard error, its log first of all, becomes lines of the log of the task that runs in this process.

Where several tasks share the process nobody knows of which a line is: these go to the standard error of the process.
"""

import logging
import os
import re
import sys
import threading
from typing import Any

OPTIONS = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showThreadName=false",
)
"""Of Java: what is logged, and in the form that is read here, "WARN org.example.Reader - text"."""
_LINE = re.compile(r"(ERROR|WARN|INFO|DEBUG|TRACE) \S+ - ")
_LEVELS = {"ERROR": logging.ERROR, "WARN": logging.WARNING, "INFO": logging.INFO}
_LONGEST = 10_000
"""Characters: a longer line is several."""


class JavaLog:
    """The standard error of one Java. Any thread may use it."""

    def __init__(self) -> None:
        self._tasks: list[logging.Logger] = []
        self._level = logging.INFO

    def begin(self, jpype: Any) -> None:
        """From now on what Java writes there comes here; called once, when Java has just started."""
        reading, writing = os.pipe()
        # Another descriptor of Java's own, as Java closes it.
        file = jpype.JClass("java.io.FileOutputStream")(f"/proc/self/fd/{writing}")
        jpype.java.lang.System.setErr(jpype.JClass("java.io.PrintStream")(file, True, "UTF-8"))
        os.close(writing)
        threading.Thread(target=self._read, args=(reading,), name="log of java", daemon=True).start()

    def follow(self, log: logging.Logger) -> None:
        """A task with this log runs in Java from now on."""
        self._tasks.append(log)
        self._level = logging.INFO

    def leave(self, log: logging.Logger) -> None:
        """It has ended; nothing happens where it did not run."""
        if log in self._tasks:
            self._tasks.remove(log)

    def _read(self, reading: int) -> None:
        with open(reading, encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            while line := file.readline(_LONGEST):
                self._say(line.rstrip())

    def _say(self, line: str) -> None:
        tasks = self._tasks.copy()
        if len(tasks) != 1:
            sys.stderr.write(f"{line}\n")
            return
        if found := _LINE.match(line):
            self._level = _LEVELS.get(found[1], logging.DEBUG)
        # Where an exception was raised is for its developers; what it says is for all.
        is_place = line.startswith(("\tat ", "\t... "))
        if line:
            tasks[0].log(logging.DEBUG if is_place else self._level, "%s", line)


JAVA_LOG = JavaLog()
"""Of the Java of this process, of which there is one."""
