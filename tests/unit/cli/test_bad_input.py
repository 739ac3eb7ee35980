"""Whatever is wrong with the input: exit code 2, one line, the place and the remedy, no file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from efface.cli.main import invoke

Case = Callable[[Path], tuple[list[str], str]]


def _people(n: int = 40, each: int = 4, dim: int = 16) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 1, dim)) + 0.4 * rng.standard_normal((n, each, dim))
    names = [f"p{i:03d}" for i in range(n) for _ in range(each)]
    return x.reshape(-1, dim).astype(np.float32), names


def _store(path: Path, x: np.ndarray, names: list[str] | np.ndarray) -> str:
    np.savez(path, embedding=x, identity=np.array(names))
    return str(path)


def good(folder: Path) -> str:
    return _store(folder / "good.npz", *_people())


def projector(folder: Path, dim: int = 16) -> Path:
    import efface

    path = folder / f"p{dim}.safetensors"
    x, names = _people(dim=dim)
    efface.save_eraser(efface.ISP(rank=4).fit(x, names).eraser_, path)
    return path


def missing_file(folder: Path) -> tuple[list[str], str]:
    return ["audit", str(folder / "no.npz")], "no.npz: no such file"


def unknown_column(folder: Path) -> tuple[list[str], str]:
    return ["audit", good(folder), "--identity", "identitty"], "did you mean 'identity'"


def ragged(folder: Path) -> tuple[list[str], str]:
    path = folder / "ragged.parquet"
    rows = [[1.0, 2.0], [1.0, 2.0, 3.0], [0.0, 1.0]]
    pq.write_table(pa.table({"identity": ["a", "a", "b"], "embedding": rows}), path)
    return ["audit", str(path)], "row 1"


def not_numbers(folder: Path) -> tuple[list[str], str]:
    path = folder / "text.parquet"
    pq.write_table(pa.table({"identity": ["a", "b"], "embedding": [["x"], ["y"]]}), path)
    return ["audit", str(path), "--embedding", "embedding"], "embedding"


def not_a_number(folder: Path) -> tuple[list[str], str]:
    x, names = _people()
    x[17, 3] = np.nan
    return ["audit", _store(folder / "nan.npz", x, names)], "row 17"


def zero_row(folder: Path) -> tuple[list[str], str]:
    x, names = _people()
    x[23] = 0
    return ["audit", _store(folder / "zero.npz", x, names)], "row 23"


def one_identity(folder: Path) -> tuple[list[str], str]:
    x, names = _people()
    return ["audit", _store(folder / "one.npz", x, ["same"] * len(names))], "one identity"


def single_image(folder: Path) -> tuple[list[str], str]:
    x, names = _people()
    names[0] = "lonely"
    return ["audit", _store(folder / "single.npz", x, names)], "lonely"


def overlapping_split(folder: Path) -> tuple[list[str], str]:
    x, names = _people()
    part = np.array(["fit", "calibration", "test", "shadow"] * 40)
    path = folder / "split.npz"
    np.savez(path, embedding=x, identity=np.array(names), part=part)
    return ["audit", str(path), "--split-column", "part"], "split: identity p000 is in both"


def other_dimension(folder: Path) -> tuple[list[str], str]:
    words = "good: the projector was fitted on 12-dimensional vectors, these have 16: give the"
    return ["audit", good(folder), "--projector", str(projector(folder, 12))], words


def apply_other_dimension(folder: Path) -> tuple[list[str], str]:
    out = str(folder / "out" / "clean.npz")
    (folder / "out").mkdir()
    return ["apply", str(projector(folder, 12)), good(folder), "--out", out], "12-dimensional"


def truncated_projector(folder: Path) -> tuple[list[str], str]:
    path = projector(folder)
    path.write_bytes(path.read_bytes()[:-40])
    return ["audit", good(folder), "--projector", str(path)], path.name


def tampered_projector(folder: Path) -> tuple[list[str], str]:
    path = projector(folder)
    data = bytearray(path.read_bytes())
    data[-9] ^= 1
    path.write_bytes(bytes(data))
    return ["audit", good(folder), "--projector", str(path)], path.name


def corrupt_parquet(folder: Path) -> tuple[list[str], str]:
    path = folder / "bad.parquet"
    path.write_bytes(b"PAR1" + bytes(200) + b"PAR1")
    return ["audit", str(path)], "bad.parquet"


def unknown_plan_key(folder: Path) -> tuple[list[str], str]:
    path = folder / "plan.toml"
    path.write_text("fail_abov = 0.1\n")
    return ["audit", good(folder), "--plan", str(path)], "did you mean 'fail_above'"


def unknown_key_inside(folder: Path) -> tuple[list[str], str]:
    path = folder / "plan.toml"
    path.write_text("[split]\ncalibratoin = 0.1\n")
    return ["audit", good(folder), "--plan", str(path)], "did you mean 'calibration'"


def unknown_parameter(folder: Path) -> tuple[list[str], str]:
    path = folder / "plan.toml"
    path.write_text('[[protect]]\nname = "isp"\nrnak = 3\n')
    return ["audit", good(folder), "--plan", str(path)], "plan.toml: isp has no parameter"


def negative_seed(folder: Path) -> tuple[list[str], str]:
    path = folder / "plan.toml"
    path.write_text("seed = -1\n[split]\nfit = 0.5\n")
    return ["audit", good(folder), "--plan", str(path)], "plan.toml: Expected `int` >= 0"


def plan_is_no_toml(folder: Path) -> tuple[list[str], str]:
    path = folder / "plan.toml"
    path.write_text("far = = 3")
    return ["audit", good(folder), "--plan", str(path)], "not a TOML file"


def unwritable_output(folder: Path) -> tuple[list[str], str]:
    (folder / "file").write_text("in the way")
    return ["audit", good(folder), "--out", str(folder / "file" / "x")], "choose another --out"


def impossible_rank(folder: Path) -> tuple[list[str], str]:
    return ["audit", good(folder), "--protect", "isp", "--rank", "400"], "rank"


def bad_far(folder: Path) -> tuple[list[str], str]:
    return ["audit", good(folder), "--far", "1.5"], "far"


def unknown_attack(folder: Path) -> tuple[list[str], str]:
    return ["audit", good(folder), "--attack", "rigde"], "did you mean 'ridge'"


def misspelt_attack(folder: Path) -> tuple[list[str], str]:
    said = "no attack named 'cosin' (did you mean 'cosine'? known: cosine, fusion, lda, mlp, ridge)"
    return ["audit", good(folder), "--attack", "cosin"], said


def attack_on_templates(folder: Path) -> tuple[list[str], str]:
    return ["audit", good(folder), "--attack", "pipe"], "pipe attacks templates: see 'efface vault"


def attack_on_templates_in_a_plan(folder: Path) -> tuple[list[str], str]:
    path = folder / "plan.toml"
    path.write_text('[[attack]]\nname = "preimage"')
    return ["audit", good(folder), "--plan", str(path)], "preimage attacks templates"


def labels_that_are_not_there(folder: Path) -> tuple[list[str], str]:
    np.save(folder / "emb.npy", _people()[0])
    given = ["audit", str(folder / "emb.npy"), "--labels", str(folder / "nope.csv")]
    return given, f"{folder / 'nope.csv'}: no such file: give a CSV"


def no_labels_at_all(folder: Path) -> tuple[list[str], str]:
    np.save(folder / "emb.npy", _people()[0])
    return ["audit", str(folder / "emb.npy")], "say where its labels are (--labels)"


def labels_beside_columns(folder: Path) -> tuple[list[str], str]:
    given = ["audit", good(folder), "--labels", str(folder / "nope.csv")]
    return given, "labels in a file of their own (--labels) go with a .npy file"


def unknown_paper(folder: Path) -> tuple[list[str], str]:
    return ["reproduce", "isp-cvpr", "--data", good(folder)], "isp-cvpr2026"


def rank_without_protect(folder: Path) -> tuple[list[str], str]:
    return ["audit", good(folder), "--rank", "4"], "--protect"


def fit_in_missing_folder(folder: Path) -> tuple[list[str], str]:
    out = str(folder / "no" / "p.safetensors")
    return ["fit", good(folder), "--rank", "4", "--out", out], "no such folder"


def damaged_report(folder: Path) -> tuple[list[str], str]:
    path = folder / "report.json"
    path.write_text('{"schema": "efface.report/1"}')
    return ["report", str(path), "--html", str(folder / "x.html")], "report.json"


CASES: list[Case] = [
    missing_file, unknown_column, ragged, not_numbers, not_a_number, zero_row, one_identity,
    single_image, overlapping_split, other_dimension, apply_other_dimension, truncated_projector,
    tampered_projector, corrupt_parquet, unknown_plan_key, unknown_key_inside, unknown_parameter,
    negative_seed, plan_is_no_toml, unwritable_output, impossible_rank, bad_far, unknown_attack,
    unknown_paper, rank_without_protect, fit_in_missing_folder, damaged_report,
    misspelt_attack, attack_on_templates, attack_on_templates_in_a_plan, labels_that_are_not_there,
    no_labels_at_all, labels_beside_columns,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_bad_input_is_one_clear_line_and_no_file(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command, expected = case(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert invoke(command) == 2
    err = capsys.readouterr().err
    assert expected in err
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, err
    assert "Traceback" not in err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("arguments", [["audit"], ["audit", "x", "--nope"], ["nope"]])
def test_wrong_usage_exits_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(arguments) == 2
    assert "Usage:" in capsys.readouterr().err
