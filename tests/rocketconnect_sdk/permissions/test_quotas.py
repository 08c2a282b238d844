"""What a file of quotas says."""

from pathlib import Path

import pytest

from rocketconnect_sdk.errors import RetriableError
from rocketconnect_sdk.permissions.quotas import QUOTAS, Quota, QuotasWrong, quota_of, read_quotas


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "quotas.toml"


def test_the_lowest_of_all_patterns_that_fit_counts(file: Path) -> None:
    file.write_text('["*"]\nrecords = 1000\nbytes = "10MB"\n["team-a-*"]\nrecords = 50.5\n["big"]\nbytes = 5\n')
    told = {QUOTAS: str(file)}
    assert quota_of("other", told) == Quota(1000, 10_000_000, ('["*"]',))
    assert quota_of("team-a-x", told) == Quota(50.5, 10_000_000, ('["*"]', '["team-a-*"]'))
    assert str(quota_of("team-a-x", told)) == 'records=50.5, bytes=10000000 a second, by ["*"], ["team-a-*"]'
    assert quota_of("big", told).size == 5
    file.write_text('["A"]\nrecords = 1\n')
    assert quota_of("a", told) == quota_of("b", {}) == quota_of("b", {QUOTAS: ""}) == Quota()


def test_the_tasks_of_a_connector_share_its_quota_and_their_own_limit_counts_where_it_is_lower() -> None:
    assert Quota(100, 1000).share(4, None, None) == (25, 250)
    assert Quota(100, 1000).share(4, 10, 10_000) == (10, 250)
    assert Quota().share(4, 10, None) == (10, None)
    assert Quota(records=100).share(1, 500, 7) == (100, 7)


def test_all_that_is_wrong_in_a_file_is_told(file: Path) -> None:
    file.write_text('x = 1\n["a"]\nrecords = 0\nbytes = "many"\nrows = 5\n["b"]\n["c"]\nrecords = true\n')
    with pytest.raises(QuotasWrong) as error:
        read_quotas(file)
    for part in ("'x' is no", "records = 0", "bytes = 'many'", "'rows' in", "'b' is no", "records = True"):
        assert part in str(error.value), part
    file.write_text("[")
    with pytest.raises(QuotasWrong, match="is no TOML"):
        read_quotas(file)


def test_where_the_file_is_wrong_by_now_nothing_is_moved_without_a_limit(file: Path) -> None:
    with pytest.raises(RetriableError, match="Tell its operator"):
        quota_of("a", {QUOTAS: str(file)})
