"""What is told of disks, memory and certificates."""

import math
from collections.abc import Callable
from pathlib import Path

import prometheus_client
import pytest

from rocketconnect_kit.serving import resources
from rocketconnect_kit.settings import ServiceSettings, StoreSettings
from tests.rocketconnect_kit.serving.test_certificates import ends, made

MACHINE = "MemTotal:        1000 kB\nMemFree:          50 kB\nMemAvailable:     400 kB\n"
Told = Callable[..., tuple[float, float]]


@pytest.fixture
def told(tmp_path: Path) -> Told:
    """What is told of a machine of 1000 KiB, 600 of them in use, with these control groups."""

    def tell(own: str, groups: dict[str, dict[str, str]]) -> tuple[float, float]:
        (tmp_path / "meminfo").write_text(MACHINE)
        (tmp_path / "own").write_text(own)
        for folder, files in groups.items():
            (tmp_path / "groups" / folder).mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                (tmp_path / "groups" / folder / name).write_text(text)
        return resources.memory(tmp_path / "meminfo", tmp_path / "own", tmp_path / "groups")

    return tell


def group(limit: str, used: int, kept: int) -> dict[str, str]:
    return {"memory.max": f"{limit}\n", "memory.current": f"{used}\n", "memory.stat": f"anon 1\ninactive_file {kept}\n"}


def test_a_machine_without_limits_tells_what_it_has(told: Told) -> None:
    assert told("0::/\n", {}) == (1000 * 1024, 600 * 1024)
    assert told("0::/a/b\n", {"a/b": group("max", 5, 0)}) == (1000 * 1024, 600 * 1024)


def test_a_container_tells_its_limit_and_not_what_is_kept_of_files(told: Told) -> None:
    assert told("0::/a/b\n", {"a/b": group("20480", 10240, 1024)}) == (20480, 9216)


def test_where_a_group_around_it_has_less_left_that_one_is_told(told: Told) -> None:
    groups = {"a": group("30720", 29696, 0), "a/b": group("20480", 1024, 0)}
    assert told("0::/a/b\n", groups) == (30720, 29696)


def test_the_older_kind_of_control_groups_is_read_as_well(told: Told) -> None:
    old = {"memory.limit_in_bytes": "20480", "memory.usage_in_bytes": "10240", "memory.stat": "total_inactive_file 1024"}
    assert told("4:memory:/a\n0::/\n", {"memory/a": old}) == (20480, 9216)


def test_a_system_that_tells_nothing_has_no_numbers(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    assert all(map(math.isnan, resources.memory(nowhere, nowhere, nowhere)))


def sample(name: str, **labels: str) -> float | None:
    return prometheus_client.REGISTRY.get_sample_value(name, labels)


def test_the_folders_and_the_certificates_of_settings_are_shown_and_what_is_away_is_unknown(tmp_path: Path) -> None:
    certificate = made(tmp_path / "own.pem", 3)
    folder = tmp_path / "data"
    settings = StoreSettings(data_dir=folder, tls_cert=certificate, tls_key=certificate)
    resources.show(settings)
    unknown = sample("rocketconnect_disk_free_bytes", path=str(folder))
    assert unknown is not None
    assert math.isnan(unknown)
    folder.mkdir()
    free, size = (sample(f"rocketconnect_disk_{what}_bytes", path=str(folder)) for what in ("free", "size"))
    assert free is not None
    assert size is not None
    assert 0 < free <= size
    end = sample("rocketconnect_certificate_expiry_timestamp_seconds", setting="tls_cert", path=str(certificate))
    assert end == ends(certificate)


def test_a_database_elsewhere_is_no_folder_and_a_file_of_sqlite_is_one() -> None:
    assert list(StoreSettings(store_url="postgresql://host/database").folders()) == []
    assert list(StoreSettings(store_url="sqlite:////var/lib/a/config.db").folders()) == [Path("/var/lib/a")]
    assert list(ServiceSettings().folders()) == []


def test_a_certificate_that_cannot_be_read_has_no_metric_and_stops_nothing(tmp_path: Path) -> None:
    path = tmp_path / "none.pem"
    path.touch()
    resources.show(ServiceSettings(tls_ca=path))
    assert sample("rocketconnect_certificate_expiry_timestamp_seconds", setting="tls_ca", path=str(path)) is None
