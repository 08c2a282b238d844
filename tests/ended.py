"""Whether a process has ended, asked while it may be ending."""

import psutil


def ended(process: psutil.Process) -> bool:
    """Whether it is gone, or only its exit code is left."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        # It went between the two questions.
        return True


def pid_ended(pid: int) -> bool:
    """The same of the process that has, or had, this id."""
    try:
        return ended(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return True
