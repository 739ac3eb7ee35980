"""The commands as a user types them, end to end on a small world."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import efface
from efface.cli.main import invoke
from efface.data import synthetic
from efface.report.schema import read
from efface.types import Samples

QUICK = ["--attack", "cosine", "--attack", "lda", "--far", "1e-2", "--sweep", "none",
         "--bootstrap", "300"]  # fmt: skip


def write(samples: Samples, path: Path, identity: str = "person") -> Path:
    flat = pa.array(samples.data.ravel())
    columns = {
        identity: samples.names[samples.identity].tolist(),
        "embedding": pa.FixedSizeListArray.from_arrays(flat, samples.dim),
    }
    columns |= {k: v.tolist() for k, v in samples.attributes.items()}
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture(scope="module")
def world() -> synthetic.World:
    return synthetic.embedding_world(people=150, images=6, dim=64, rank=12, seed=3)


@pytest.fixture
def emb(tmp_path: Path, world: synthetic.World) -> Path:
    return write(world.samples, tmp_path / "emb.parquet")


def run(emb: Path, *more: str) -> int:
    return invoke(["audit", str(emb), "--identity", "person", *QUICK, *more])


def test_raw_vectors_fail_a_gate_and_erased_ones_pass(emb: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    assert run(emb, "--fail-above", "0.3", "--out", out) == 1
    before = read(tmp_path / "out" / "report.json").worst()
    assert before.tar.low is not None
    assert before.tar.low > 0.5  # the leak was there
    assert run(emb, "--fail-above", "0.3", "--protect", "isp", "--rank", "20", "--out", out) == 0
    after = read(tmp_path / "out" / "report.json").worst()
    assert after.tar.high is not None
    assert after.tar.high < 0.3
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "report.json", "report.html", "report.junit.xml",
    }  # fmt: skip


def test_too_few_impostors_are_inconclusive(emb: Path, tmp_path: Path) -> None:
    assert run(emb, "--far", "1e-6", "--fail-above", "0.3", "--out", str(tmp_path / "o")) == 3
    worst = read(tmp_path / "o" / "report.json").worst()
    assert worst.status == "insufficient data"
    assert worst.tar.value is None


def test_without_a_gate_the_exit_code_is_0(emb: Path, tmp_path: Path) -> None:
    assert run(emb, "--out", str(tmp_path / "o")) == 0


def test_equal_runs_give_equal_files(
    emb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["efface", "audit"])
    for name in ("a", "b"):
        run(emb, "--protect", "isp", "--rank", "8", "--out", str(tmp_path / name))
    for file in ("report.json", "report.html", "report.junit.xml"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_another_seed_is_another_split(emb: Path, tmp_path: Path) -> None:
    for seed in ("0", "1"):
        run(emb, "--seed", seed, "--out", str(tmp_path / seed))
    one, two = (read(tmp_path / s / "report.json").subject for s in ("0", "1"))
    assert one.split_digest != two.split_digest
    assert one.digest == two.digest


def test_fit_apply_and_audit_the_projector(
    emb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    projector, clean = tmp_path / "p.safetensors", tmp_path / "clean.parquet"
    assert invoke([
        "fit", str(emb), "--identity", "person", "--method", "isp", "--rank", "14",
        "--out", str(projector),
    ]) == 0  # fmt: skip
    assert invoke(["apply", str(projector), str(emb), "--out", str(clean)]) == 0
    eraser = efface.load_eraser(projector)
    raw, erased = (efface.load(p, identity="person") for p in (emb, clean))
    np.testing.assert_allclose(erased.data, eraser.transform(raw.data), atol=1e-6)
    assert pq.read_schema(clean).names == pq.read_schema(emb).names
    out = tmp_path / "o"
    assert run(emb, "--projector", str(projector), "--out", str(out)) == 0
    report = read(out / "report.json")
    assert [r.name for r in report.releases] == ["raw", "isp-14"]
    # The people the projector was fitted on are the fit part: it was not tested on them.
    assert report.subject.parts["fit"][0] == eraser.identities
    before, after = report.worst("raw").tar.value, report.worst().tar.value
    assert before is not None
    assert after is not None
    assert after < before


def test_a_projector_fitted_on_everybody_cannot_be_audited_on_them(
    emb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    projector = tmp_path / "p.safetensors"
    fit = ["fit", str(emb), "--identity", "person", "--rank", "8", "--all", "--out", str(projector)]
    assert invoke(fit) == 0
    assert run(emb, "--projector", str(projector), "--out", str(tmp_path / "o")) == 2
    assert "it has not seen" in capsys.readouterr().err


def test_fit_refuses_to_write_when_no_rank_meets_the_target(
    emb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "p.safetensors"
    fit = ["fit", str(emb), "--identity", "person", "--target", "0.001", "--far", "1e-2"]
    assert invoke([*fit, "--out", str(out)]) == 1
    assert not out.exists()
    assert "no upper bound can be below" in capsys.readouterr().err


def test_rank_auto_meets_its_target_on_calibration_people(emb: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    run(emb, "--protect", "isp", "--target", "0.35", "--out", str(out))
    sweep = next(s for s in read(out / "report.json").sweeps if s.measured_on == "calibration")
    chosen = next(p for p in sweep.points if p.x == sweep.chosen)
    assert chosen.tar.high is not None
    assert chosen.tar.high <= 0.35
    for point in sweep.points:
        if sweep.chosen is not None and 0 < point.x < sweep.chosen:
            assert point.tar.high is None or point.tar.high > 0.35


def test_json_is_the_report(emb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(emb, "--out", str(tmp_path / "o"), "--json")
    printed = capsys.readouterr().out
    assert printed.encode() == (tmp_path / "o" / "report.json").read_bytes()


def test_no_name_of_a_person_is_in_any_output(tmp_path: Path, world: synthetic.World) -> None:
    names = [f"Zzyzx{i:04d}" for i in range(len(world.samples.names))]
    samples = efface.samples(
        world.samples.data, [names[c] for c in world.samples.identity], dataset="w"
    )
    emb, out = write(samples, tmp_path / "emb.parquet"), tmp_path / "o"
    run(emb, "--protect", "isp", "--rank", "8", "--out", str(out))
    for file in out.iterdir():
        assert b"Zzyzx" not in file.read_bytes()


def test_report_renders_again_without_data(emb: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    run(emb, "--fail-above", "0.3", "--out", str(out))
    emb.unlink()
    html, junit = tmp_path / "again.html", tmp_path / "again.xml"
    code = invoke(["report", str(out / "report.json"), "--html", str(html), "--junit", str(junit)])
    assert code == 1
    assert html.read_bytes() == (out / "report.html").read_bytes()
    assert junit.read_bytes() == (out / "report.junit.xml").read_bytes()


def test_schema_is_printed_and_holds(
    emb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import jsonschema

    run(emb, "--protect", "leace", "--rank", "8", "--out", str(tmp_path / "o"))
    capsys.readouterr()
    assert invoke(["report", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.validate(json.loads((tmp_path / "o" / "report.json").read_text()), schema)


def test_list_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["list", "--json"]) == 0
    cards = json.loads(capsys.readouterr().out)
    assert {c["name"] for c in cards} >= {"isp", "leace", "sal", "inlp", "rlace", "cosine", "mlp"}
    assert invoke(["list", "attacks"]) == 0
    told = capsys.readouterr().out
    assert "isp" not in told.split()
    on_templates = [c for c in cards if c["role"] == "attack" and c["accepts"] == "template"]
    assert told.count("attacks templates: see 'efface vault meter'") == len(on_templates) > 0


def test_a_plan_is_an_audit(emb: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'identity = "person"\nfar = 1e-2\nfail_above = 0.3\nsweep = []\nbootstrap = 300\n'
        "[split]\nfit = 0.5\nshadow = 0.1\ncalibration = 0.2\ntest = 0.2\n"
        '[[protect]]\nname = "isp"\nrank = 20\n'
        '[[attack]]\nname = "cosine"\n[[attack]]\nname = "lda"\nshrinkages = [0.1, 1.0]\n'
    )
    out = tmp_path / "o"
    assert invoke(["audit", str(emb), "--plan", str(plan), "--out", str(out)]) == 0
    report = read(out / "report.json")
    assert report.subject.parts["fit"][0] == 75
    assert report.provenance.plan["fail_above"] == 0.3


def test_utility_copies_and_transfer_are_sections(
    emb: Path, tmp_path: Path, world: synthetic.World
) -> None:
    things = write(synthetic.utility_world(world), tmp_path / "things.parquet", "label")
    copies = write(
        synthetic.copies_world(world, originals=60), tmp_path / "copies.parquet", "original"
    )
    second = write(
        synthetic.second_dataset(world, seed=9).samples, tmp_path / "second.parquet", "person"
    )
    out = tmp_path / "o"
    run(emb, "--protect", "isp", "--rank", "12", "--utility", str(things), "--copies",
        str(copies), "--transfer", str(second), "--out", str(out))  # fmt: skip
    report = read(out / "report.json")
    tasks = {u.task for u in report.utility}
    assert {"k-NN top-1", "linear probe top-1", "copy recall@1", "copy recall@10"} <= tasks
    assert report.transfer is not None
    assert len(report.transfer.cells) == 6
    assert len(report.transfer.cosines) == 12


def test_the_paper_prints_its_tables_beside_ours(
    emb: Path, tmp_path: Path, world: synthetic.World, capsys: pytest.CaptureFixture[str]
) -> None:
    second = write(
        synthetic.second_dataset(world, seed=9).samples, tmp_path / "second.parquet", "person"
    )
    assert (
        invoke(
            [
                "reproduce",
                "isp-cvpr2026",
                "--data",
                str(emb),
                "--data",
                str(second),
                "--identity",
                "person",
                "--table",
                "1",
                "--table",
                "5",
                "--rank",
                "8",
                "--bootstrap",
                "300",
                "--json",
            ]
        )
        == 3
    )  # fmt: skip; so few people show nothing at FAR 1e-4
    said = capsys.readouterr()
    assert "nothing could be measured" in said.err
    tables = json.loads(said.out)
    assert [t["number"] for t in tables] == ["1", "5"]
    assert tables[0]["columns"] == ["data", "model", *(
        f"k={k} {name}" for k in (1, 4, 16) for name in ("RAW", "ISP-W", "ISP-X")
    )]  # fmt: skip
    assert tables[0]["paper"][2][:5] == ["CelebA-20", "CLIP", "16.4", "11.9", "10.9"]
    assert len(tables[0]["ours"]) == 2
    assert tables[0]["ours"][0][-3:] == ["-", "-", "-"]  # 16 of 6 images cannot be had
    assert all(len(row) == 11 for row in tables[0]["ours"] + tables[0]["paper"])
    assert any("k=16 needs 18 images" in note for note in tables[0]["notes"])


def test_interrupt_leaves_no_partial_file(tmp_path: Path, world: synthetic.World) -> None:
    emb, out = write(world.samples, tmp_path / "emb.parquet"), tmp_path / "o"
    process = subprocess.Popen(
        [sys.executable, "-m", "efface.cli.main", "audit", str(emb), "--identity", "person",
         "--protect", "isp", "--rank", "8", "--out", str(out)],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT), err  # a shell shows both as 130
    assert b"Traceback" not in err
    assert [p.name for p in tmp_path.rglob("*")] == ["emb.parquet"]


def test_a_reading_of_the_meter_has_its_page_already(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "meter.json").write_text('{"schema": "efface.meter/1"}')
    page = tmp_path / "x.html"
    assert invoke(["report", str(tmp_path / "meter.json"), "--html", str(page)]) == 2
    said = capsys.readouterr().err
    assert "'efface vault meter --out FOLDER' writes its page itself" in said
    assert not page.exists()
