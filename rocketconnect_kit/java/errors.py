"""What can go wrong with Java and jars; every message says what to do about it."""


class JavaError(Exception):
    """Something that runs in Java can't run; the text is for the user."""


class JavaMissing(JavaError):
    """No Java 17 or newer was found on this machine."""


class JarsUnavailable(JavaError):
    """The jars are neither cached nor given, and could not be resolved."""
