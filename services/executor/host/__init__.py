"""A host process: it loads plugin code and runs it, so that the executor's own process never does.

It takes orders from the executor over a socket, holds the tasks in threads, and ends with the executor. See messages.py for what
they say to each other.
"""
