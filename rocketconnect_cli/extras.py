"""What to install when the bare command is not enough."""


def advice(extra: str) -> str:
    """How to install a part of RocketConnect, for the end of an error message."""
    return f"install it with its extra: pip install '.[{extra}]' in RocketConnect's checkout"
