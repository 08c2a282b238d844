"""What the Python has to have that Spark runs: its workers may be of another one than the job. Imported before all else of it."""

import sys

try:
    # To learn whether they can be imported; most of the modules here need them only later, where it is not told what to do.
    import msgspec  # noqa: F401
    import numpy as np  # noqa: F401
    import pyarrow as pa  # noqa: F401

    import rocketmq_remoting.client  # noqa: F401
except ModuleNotFoundError as error:
    msg = (
        f"{error}: the format rocketmq needs RocketConnect's extra spark in {sys.executable}, the Python that Spark runs. Install "
        f"it there (pip install '.[spark]' in RocketConnect's checkout), or let PYSPARK_PYTHON name the Python that has it"
    )
    raise ModuleNotFoundError(msg, name=error.name) from error
