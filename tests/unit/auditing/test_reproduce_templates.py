"""The template tables of a paper on made-up people, and the plan that comes with efface."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from efface.auditing.papers import read_paper
from efface.auditing.printed import Printed
from efface.auditing.reproduce import reproduce
from efface.errors import PlanError
from efface.testing.common import world
from efface.types import Samples

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")

PLAN = """
title = "t"
citation = "c"
[[table]]
number = "2"
kind = "threshold"
caption = "threshold"
rows = [["theirs", "net", "1.1", 89.5, 0.8]]
[[table]]
number = "4"
kind = "recovery"
caption = "mrp"
scheme = "mrp"
params = { n = 24 }
methods = ["pipe", "partial pipe", "random", "preimage"]
rows = [["theirs", "net", 99.4, 0.9, "1.0 ± 0.5"]]
[[table]]
number = "12"
kind = "correction"
caption = "lattice"
scheme = "l2fe-hash"
params = { m = 24, l = 8, q = 10007, scale = 0.05 }
genuine = 0.5
rows = [["theirs", "net", 65, 35, 4, 96]]
"""


@pytest.fixture(scope="module")
def halves() -> list[Samples]:
    people = world(60, 4, 48, np.float64)
    known = np.isin(people.identity, people.people[:30])
    return [people.take(np.flatnonzero(rows)) for rows in (~known, known)]


@pytest.fixture(scope="module")
def tables(halves: list[Samples], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Printed]:
    file = tmp_path_factory.mktemp("plan") / "paper.toml"
    file.write_text(PLAN, encoding="utf-8")
    return {t.number: t for t in reproduce(read_paper(str(file)), halves, bootstrap=200)}


def value(cell: str) -> float:
    return float(cell.split(" ")[0])


def test_ours_and_the_paper_s_share_the_columns(tables: dict[str, Printed]) -> None:
    for table in tables.values():
        assert all(len(row) == len(table.columns) for row in table.ours)
        assert all(2 < len(row) <= len(table.columns) for row in table.paper)
        assert table.columns[:2] == ["data", "model"]


def test_pipe_recovers_with_the_seed_and_not_without(tables: dict[str, Printed]) -> None:
    row = dict(zip(tables["4"].columns, tables["4"].ours[0], strict=True))
    assert value(row["pipe %"]) > value(row["partial pipe %"]) + 50
    assert value(row["preimage %"]) >= value(row["pipe %"])
    assert "±" in row["random %"]


def test_rates_add_up_and_the_second_row_meets_the_paper_s_tpr(tables: dict[str, Printed]) -> None:
    given, chosen = tables["12"].ours
    for row in (given, chosen):
        tpr, fnr, fpr, tnr = (value(cell) for cell in row[2:])
        assert tpr + fnr == pytest.approx(100, abs=0.11)
        assert fpr + tnr == pytest.approx(100, abs=0.11)
        assert tpr > fpr
    assert value(chosen[2]) == pytest.approx(50, abs=25)  # chosen on 30 others
    assert chosen[1] != given[1]


def test_a_lattice_larger_than_the_vectors_is_said_to_be_smaller(
    halves: list[Samples], tmp_path: Path
) -> None:
    file = tmp_path / "paper.toml"
    lattice = PLAN.replace("m = 24", "m = 60")
    file.write_text(lattice, encoding="utf-8")
    [table] = reproduce(read_paper(str(file)), halves, tables=["12"], bootstrap=200)
    said = "measured with m = 48 in place of m = 60: these vectors have 48 numbers"
    assert said in table.notes
    assert all(row[1].startswith("m = 48, ") for row in table.ours)


def test_a_lattice_that_fits_is_the_paper_s(tables: dict[str, Printed]) -> None:
    assert not any("in place of" in note for note in tables["12"].notes)


def test_the_threshold_tells_people_apart(tables: dict[str, Printed]) -> None:
    *_, t, tpr, fpr = tables["2"].ours[0]
    assert 0 < float(t) < 2
    assert value(tpr) > value(fpr)


def test_the_plan_that_comes_along_has_the_paper_s_tables() -> None:
    paper = read_paper("l2fe-hash-2025")
    assert [t.number for t in paper.table] == ["2", "3", "4", "10", "12"]
    for table in paper.table:
        wanted = {"threshold": 3, "correction": 4}.get(table.kind)
        assert all(len(row) - 2 <= (wanted or len(table.methods)) for row in table.rows)


def test_a_scale_cannot_be_chosen_without_second_pictures(
    halves: list[Samples], tmp_path: Path
) -> None:
    file = tmp_path / "paper.toml"
    file.write_text(PLAN, encoding="utf-8")
    users, known = halves
    _, first = np.unique(known.identity, return_index=True)
    with pytest.raises(PlanError, match="nobody has two pictures"):
        reproduce(read_paper(str(file)), [users, known.take(first)], tables=["12"], bootstrap=200)
