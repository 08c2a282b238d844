"""Real service processes for tests."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def service_process(service: str, *flags: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Run `python -m services.<service>` until the end of the block, where it is killed if it still runs; give its address."""
    read, write = os.pipe()
    words = ["-m", f"services.{service}", "--announce-fd", str(write), *flags]
    started = await asyncio.create_subprocess_exec(sys.executable, *words, pass_fds=[write])
    os.close(write)
    try:
        with os.fdopen(read) as pipe:
            line = await asyncio.wait_for(asyncio.to_thread(pipe.readline), 30)
        yield started, json.loads(line)["address"]
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()
