"""Writes everything that is made from the protos: messages, stubs and their types beside each proto, and the OpenAPI document.

What connectors read of others has messages alone, beside who reads them. Run by `make proto` after a change of a proto; the result
is committed, and a test proves that running it again changes nothing. An argument is another directory to write to.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROTOS = ROOT / "protos"
THIRD_PARTY = ROOT / "third_party/protos"
MESSAGES = {"prometheus": Path("connectors/telemetry"), "rocketmq": Path("connectors/rocketmq_grpc")}
"""By the folder of what others speak the room that speaks it, too."""
OPENAPI = Path("services/gateway/openapi.json")


def main(target: Path = ROOT) -> None:
    """Generate into `target`: **/*_pb2* of protos/rocketconnect and of MESSAGES, and services/gateway/openapi.json."""
    files = sorted(str(path.relative_to(PROTOS)) for path in PROTOS.glob("rocketconnect/**/*.proto"))
    code = target / "protos"
    code.mkdir(parents=True, exist_ok=True)
    _protoc(*(f"--{kind}_out={code}" for kind in ("python", "grpc_python", "mypy", "mypy_grpc")), *files)
    for name, room in MESSAGES.items():
        made = target / room
        made.mkdir(parents=True, exist_ok=True)
        read = sorted(str(path.relative_to(THIRD_PARTY)) for path in THIRD_PARTY.glob(f"{name}/*.proto"))
        _protoc(f"--python_out={made}", f"--mypy_out={made}", *read)
    _openapi(files, target / OPENAPI)


def _openapi(files: list[str], target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        described = Path(folder) / "descriptors"
        _protoc("--include_imports", "--include_source_info", f"--descriptor_set_out={described}", *files)
        # In a fresh process: it must see the messages that were generated a moment ago.
        made = _run(sys.executable, "-m", "services.gateway.api.openapi", str(described))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(json.loads(made), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _protoc(*arguments: str) -> None:
    _run(sys.executable, "-m", "grpc_tools.protoc", "-I", str(PROTOS), "-I", str(THIRD_PARTY), *arguments)


def _run(*command: str) -> bytes:
    # The plugins for type stubs are installed beside the interpreter.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command[:4])} failed:\n{done.stderr.decode()}")
    return done.stdout


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
