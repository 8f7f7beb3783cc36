"""A newcomer's way works: from ``ksqlpy dev`` to a first result, and README and quickstart as they are pasted.

``python -m tests.newcomer.walk`` prints how long it takes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.newcomer.walk import ROW, first_result, paste

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.extended("servers as processes, in a terminal"),
]


def test_from_dev_to_the_first_own_result(tmp_path: Path) -> None:
    assert list(first_result(tmp_path)) == ["prompt", "first own result"]
    assert list((tmp_path / "tmp").glob("ksqlpy-*")) == []  # --temporary keeps nothing
    assert not (tmp_path / "home" / "XDG_DATA_HOME" / "ksqlpy").exists()


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_a_page_is_pasted_line_by_line(page: str, tmp_path: Path) -> None:
    assert ROW.search(paste(page, tmp_path))
    assert (tmp_path / "home" / "XDG_DATA_HOME" / "ksqlpy" / "local" / "kafka").is_dir()
