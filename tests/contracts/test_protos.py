"""The protos are the contract between the parts: generated code is true to them, they follow the rules, they never break."""

import filecmp
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor import EnumDescriptor, FileDescriptor, MethodDescriptor, ServiceDescriptor
from rocketconnect.access.v1 import access_service_pb2
from rocketconnect.cluster.v1 import cluster_service_pb2
from rocketconnect.config.v1 import config_service_pb2
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.deadletter.v1 import deadletter_service_pb2
from rocketconnect.executor.v1 import executor_service_pb2
from rocketconnect.keystore.v1 import keystore_service_pb2
from rocketconnect.logging.v1 import logging_service_pb2
from rocketconnect.position.v1 import position_service_pb2
from rocketconnect.record.v1 import record_pb2
from rocketconnect.state.v1 import state_service_pb2
from rocketconnect.topic.v1 import topic_service_pb2

from services.gateway.api.rules import rules
from services.gateway.problems import HTTP_STATUS
from tests.deploy.releases import Release, releases

ROOT = Path(__file__).parents[2]
BUF = Path(sys.executable).with_name("buf")
FILES: tuple[FileDescriptor, ...] = (
    access_service_pb2.DESCRIPTOR,
    cluster_service_pb2.DESCRIPTOR,
    config_service_pb2.DESCRIPTOR,
    keystore_service_pb2.DESCRIPTOR,
    logging_service_pb2.DESCRIPTOR,
    connector_pb2.DESCRIPTOR,
    deadletter_service_pb2.DESCRIPTOR,
    executor_service_pb2.DESCRIPTOR,
    position_service_pb2.DESCRIPTOR,
    record_pb2.DESCRIPTOR,
    state_service_pb2.DESCRIPTOR,
    topic_service_pb2.DESCRIPTOR,
)


def services() -> Iterator[ServiceDescriptor]:
    for file in FILES:
        yield from file.services_by_name.values()


def methods() -> Iterator[MethodDescriptor]:
    for service in services():
        yield from service.methods


def enums() -> Iterator[EnumDescriptor]:
    for file in FILES:
        yield from file.enum_types_by_name.values()


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


def test_generating_again_changes_nothing(tmp_path: Path) -> None:
    done = run(sys.executable, "scripts/generate_protos.py", tmp_path)
    assert done.returncode == 0, done.stderr
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    read = [path for name in ("prometheus", "rocketmq") for path in (ROOT / "third_party/protos" / name).glob("*.proto")]
    assert len(made) == 4 * len(FILES) + 2 * len(read) + 1
    _, differ, missing = filecmp.cmpfiles(tmp_path, ROOT, [str(path) for path in made], shallow=False)
    assert (differ, missing) == ([], []), "run make proto and commit what it writes"


def test_no_generated_file_is_left_of_a_proto_that_is_gone() -> None:
    protos = {path.with_suffix("").name for path in (ROOT / "protos").rglob("*.proto")}
    assert {
        path.name.partition("_pb2")[0] for path in (ROOT / "protos").rglob("*_pb2*.py*") if "__pycache__" not in path.parts
    } == protos
    assert protos == {Path(file.name).stem for file in FILES}


def test_buf_lint_finds_nothing() -> None:
    done = run(BUF, "lint")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_no_change_breaks_those_who_use_the_protos_as_they_are_committed() -> None:
    if shutil.which("git") is None or run("git", "rev-parse", "--verify", "HEAD:protos").returncode:
        pytest.skip("there is no commit to compare with")
    for commit in run("git", "rev-list", "--max-count=2", "HEAD", "--", "protos/*.proto").stdout.split():
        done = run(BUF, "breaking", "--against", f".git#ref={commit}")
        assert (done.returncode, done.stdout) == (0, ""), f"{commit}: {done.stderr}; a breaking change is a v2 beside v1"


@pytest.mark.parametrize("release", releases(), ids=lambda release: release.version)
def test_no_change_breaks_those_who_run_a_release(release: Release) -> None:
    if shutil.which("git") is None or run("git", "rev-parse", "--verify", "HEAD:protos").returncode:
        pytest.skip("there is no commit to compare with")
    done = run(BUF, "breaking", "--against", f".git#ref={release.commit}")
    assert (done.returncode, done.stdout) == (0, ""), f"{done.stderr}; a breaking change is a v2 beside v1"


@pytest.mark.parametrize(
    ("was", "becomes", "seen"),
    [
        (
            "  string worker_id = 5;\n",
            "",
            'field "5" with name "worker_id" on message "OpenTaskRequest" was deleted',
        ),
        ("  string worker_id = 5;", "  bytes worker_id = 5;", 'changed type from "string" to "bytes"'),
        ("rpc OpenTask(", "rpc BeginTask(", 'Previously present RPC "OpenTask" on service "PositionService" was deleted'),
    ],
)
@pytest.mark.slow
def test_a_change_that_breaks_those_who_run_a_release_is_seen(was: str, becomes: str, seen: str, tmp_path: Path) -> None:
    for name in ("protos", "third_party/protos"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.py", "*.pyi", "__pycache__"))
    shutil.copy(ROOT / "buf.yaml", tmp_path)
    proto = tmp_path / "protos/rocketconnect/position/v1/position_service.proto"
    text = proto.read_text()
    assert text.count(was) == 1
    proto.write_text(text.replace(was, becomes))
    done = run(BUF, "breaking", tmp_path, "--against", f".git#ref={releases()[-1].commit}")
    assert done.returncode != 0
    assert seen in done.stdout


def test_packages_of_go_and_java_are_what_clients_have_been_generated_with() -> None:
    for file in FILES:
        area = Path(file.name).parts[1]
        options = file.GetOptions()
        assert options.go_package == f"github.com/rocketconnect/rocketconnect/gen/go/rocketconnect/{area}/v1;{area}v1"
        assert (options.java_package, options.java_multiple_files) == (f"io.github.rocketconnect.{area}.v1", True)


def test_package_is_folder_and_service_is_named_after_its_area() -> None:
    for file in FILES:
        assert file.package.replace(".", "/") == str(Path(file.name).parent)
    for service in services():
        area = service.full_name.split(".")[1]
        assert service.name == f"{area.title()}Service"


def test_every_rpc_has_a_request_and_a_response_of_its_own() -> None:
    used = Counter(kind.full_name for method in methods() for kind in (method.input_type, method.output_type))
    for method in methods():
        assert method.input_type.name == f"{method.name}Request"
        assert method.output_type.name == f"{method.name}Response"
    assert set(used.values()) == {1}


def test_every_enum_starts_unspecified_and_its_values_carry_its_name() -> None:
    for enum in enums():
        prefix = "".join(f"_{letter}" if letter.isupper() else letter for letter in enum.name).lstrip("_").upper()
        assert (enum.values[0].name, enum.values[0].number) == (f"{prefix}_UNSPECIFIED", 0)
        assert all(value.name.startswith(f"{prefix}_") for value in enum.values)


def test_lists_that_rest_shows_are_paged_creates_carry_a_request_id_and_stored_configurations_an_etag() -> None:
    for rule in rules():
        fields = set(rule.method.input_type.fields_by_name)
        if rule.method.name.startswith("List"):
            assert {"page_size", "page_token"} <= fields, rule.method.full_name
            assert "next_page_token" in rule.method.output_type.fields_by_name
        if rule.method.name.startswith("Create"):
            assert "request_id" in fields
        if rule.method.name.startswith("Update"):
            assert "etag" in fields


def test_every_canonical_code_has_one_http_status() -> None:
    assert set(HTTP_STATUS) == {code.name for code in grpc.StatusCode} - {"OK"}
