"""``efface serve`` as a process: it starts, answers, says nothing of vectors, and ends well."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
from serve_world import BINARY, DIM, JSON, projector, rows

from efface.cli.main import invoke
from efface.export.safetensors import load_eraser

pytestmark = pytest.mark.skipif(os.name != "posix", reason="ends by signals")


@contextmanager
def started(*more: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its address; what it printed is in ``folder``."""
    out, err = folder / "out", folder / "err"
    words = [sys.executable, "-m", "efface.cli.main", "serve", "--projector",
             str(folder / "p.safetensors"), "--port", "0", *more]  # fmt: skip
    with out.open("w") as o, err.open("w") as e:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=e, text=True)
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            o.write(line)
            found = re.search(r"http://\S+", line)
            assert found, line + err.read_text()
            yield process, found[0]
        finally:
            if process.poll() is None:
                process.kill()
            rest, _ = process.communicate()
            o.write(rest)


def test_it_serves_logs_no_vector_and_ends_at_once(tmp_path: Path) -> None:
    projector(tmp_path)
    eraser = load_eraser(tmp_path / "p.safetensors")
    x = rows(4)
    x[:] = 0.7391824
    x[:, 0] = np.arange(4)
    bad = [f"[{','.join(['0.7391824'] * (DIM - 1))}]", "0.7391824"]
    with started("--max-body", "10kB", "--concurrency", "1", folder=tmp_path) as (process, url):
        with httpx.Client(base_url=url, timeout=20) as client:
            good = client.post("/v1/erase", content=x.tobytes(), headers=BINARY)
            assert good.content == eraser.transform(x).tobytes()
            for text in bad:
                body = f'{{"vectors":[{text}]}}'
                answer = client.post("/v1/erase", content=body, headers=JSON)
                assert answer.status_code == 422
                assert "7391824" not in answer.text
            assert client.post(f"/v1/erase?dim={bad[1]}", headers=JSON).status_code == 422
            huge = client.post("/v1/erase", content=bytes(10_001), headers=BINARY)
            assert huge.status_code == 413
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    said = (tmp_path / "out").read_text() + (tmp_path / "err").read_text()
    assert "4 of 16 directions removed" in said
    assert "7391824" not in said
    assert "Traceback" not in said
    assert (tmp_path / "err").read_text() == ""


def test_ctrl_c_ends_it_as_any_command(tmp_path: Path) -> None:
    projector(tmp_path)
    with started(folder=tmp_path) as (process, _):
        process.send_signal(signal.SIGINT)
        assert process.wait(20) in (130, -signal.SIGINT)
    assert "Traceback" not in (tmp_path / "err").read_text()


def test_only_what_was_signed_is_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    projector(tmp_path)
    file, key, other = (str(tmp_path / name) for name in ("p.safetensors", "key", "other"))
    for name in (key, other):
        assert invoke(["keygen", "--out", name]) == 0
    serve = ["serve", "--projector", file, "--port", "0", "--expect-signature"]
    assert invoke([*serve, f"{key}.pub"]) == 2, "unsigned"
    assert "signature cannot be read" in capsys.readouterr().err
    assert invoke(["sign", file, "--key", other]) == 0
    assert invoke([*serve, f"{key}.pub"]) == 2, "another key"
    assert "not valid: it was made with another key" in capsys.readouterr().err
    with started("--expect-signature", f"{other}.pub", folder=tmp_path) as (_, url):
        assert httpx.get(f"{url}/healthz").status_code == 200
    projector(tmp_path, method="changed")
    assert invoke([*serve, f"{other}.pub"]) == 2, "another projector"
    assert "not the one that was signed" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["fastapi", "uvicorn", "prometheus_client"])
def test_without_the_extra_it_says_what_to_install(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    module: str,
) -> None:
    projector(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    assert invoke(["serve", "--projector", str(tmp_path / "p.safetensors"), "--port", "0"]) == 2
    assert f"{module} is not installed: pip install 'efface[serve]'" in capsys.readouterr().err


def test_a_port_that_is_taken_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    projector(tmp_path)
    with started(folder=tmp_path) as (_, url):
        port = url.rsplit(":", 1)[1]
        file = str(tmp_path / "p.safetensors")
        assert invoke(["serve", "--projector", file, "--port", port]) == 2
    said = capsys.readouterr().err
    assert f"127.0.0.1:{port}: cannot listen there" in said
    assert "give another --host or --port" in said


@pytest.mark.parametrize(
    "words",
    [
        ["--port", "70000"],
        ["--max-batch", "0"],
        ["--max-body", "many"],
        ["--max-body", "0"],
        ["--max-body", "-1"],
        ["--max-body", "3 parsecs"],
        ["--concurrency", "0"],
        ["--queue", "-1"],
        ["--timeout", "0"],
        ["--timeout", "nan"],
        ["--timeout", "inf"],
        ["--host", "no.such.host.invalid"],
        ["--projector", "none.safetensors"],
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, words: list[str]) -> None:
    projector(tmp_path)
    file = str(tmp_path / "p.safetensors")
    assert invoke(["serve", "--projector", file, "--port", "0", *words]) == 2


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("64MiB", 64 << 20), ("10 kB", 10_000), ("2gib", 2 << 30), ("7B", 7), (5, 5)],
)
def test_sizes_are_read(text: str | int, size: int) -> None:
    from efface.cli.serve import Size

    assert Size().convert(text, None, None) == size
