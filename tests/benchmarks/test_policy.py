"""benchmarks/policy.py measures real decisions, and prints a row for each case."""

from __future__ import annotations

import re

import pytest

from benchmarks.policy import GRANTS, actions, decision_table, grants, sandbox_table
from openclaw.tools.shell.sandbox import why_unavailable


def test_no_grant_of_the_benchmark_fits_so_that_each_is_looked_at() -> None:
    made = grants(max(GRANTS))
    assert len(made) == max(GRANTS)
    assert not any(grant.covers(action) for grant in made for action in actions())


@pytest.mark.slow
def test_the_tables_have_a_row_for_each_case() -> None:
    rows = decision_table(1, 50).splitlines()
    assert len(rows) == 2 + len(GRANTS)
    assert all(re.fullmatch(r"\| \d+ \| [\d,]+( \| \d+\.\d{3}){2} \|", row) for row in rows[2:])
    table = sandbox_table(1, 1)
    assert (table.count("\n") == 4) == (why_unavailable() is None)
