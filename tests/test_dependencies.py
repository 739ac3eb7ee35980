"""Who may import whom, what importing costs, and what the code may never do."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "efface"
FILES = sorted(SOURCE.rglob("*.py"))

# Lower numbers never import higher ones; packages of one number do not import each other.
LAYERS = (
    {"errors", "results", "readings", "attributions", "facts", "types", "_version"},
    {"registry", "progress", "extras", "threads", "fingerprint", "tries"},
    {"data", "pictures", "encoders", "faces", "protect", "attack", "judge", "measure", "diagnose"}
    | {"hazmat", "nets", "export", "scale"},
    {"auditing", "stores", "encoding"},
    {"attributing"},
    {"report"},
    {"api"},
    {"demo"},
    {"", "cli", "serve", "vault"},
)
LEVEL = {package: level for level, packages in enumerate(LAYERS) for package in packages}
NOUNS = LAYERS[0]

# Neighbours that may be seen. Everything else on one level stays apart.
NEIGHBOURS = {
    ("diagnose", "measure"),
    ("judge", "measure"),  # a judge counts with the pure functions of measure
    ("encoding", "stores"),  # one run per target: its lock, and what it asks of a disk
    ("faces", "encoders"),  # weights by digest; dlib's come in one package
    ("cli", ""),
    ("serve", ""),
    ("cli", "serve"),
    ("cli", "vault"),
    ("vault", "serve"),  # the same desk in front of another service
    ("protect", "hazmat"),  # a safe recipe over primitives that are unsafe alone
    ("attack", "hazmat"),  # which an attacker knows too
    ("protect", "data"),  # templates check vectors as they enter; a basis is written whole or not
    ("protect", "nets"),
    ("attack", "nets"),
}
# One file, one module: the only ways up.
UPWARD = {
    ("results.py", "efface.report"),
    ("readings.py", "efface.report.meter"),
    ("attributions.py", "efface.report.attribution"),
}
# Packages that see less than their level would let them.
ONLY = {
    "measure": NOUNS | {"measure"},
    "export": NOUNS | {"export", "extras", "protect.linear.eraser"},
    # Shards are fitted and scored where they lie: the two things of which parts can be merged.
    "scale": NOUNS
    | {
        "scale",
        "extras",
        "progress",
        "threads",
        "fingerprint",
        "protect.linear",
        "measure.pairs",
        "measure.tails",
    },
}


def package_of(module: str) -> str:
    """``efface.protect.linear`` -> ``protect``; the root itself is the empty name."""
    return module.split(".")[1] if "." in module else ""


def imported(tree: ast.AST, module: str, is_package: bool) -> Iterator[str]:
    """Every efface module that a file imports, wherever in it; ``from efface import x`` counts
    as ``efface.x`` if that is a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                up = parts[: len(parts) - node.level + is_package]
                base = ".".join([*up, *filter(None, [base])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if is_module(inner) else base


def is_module(name: str) -> bool:
    path = SOURCE.joinpath(*name.split(".")[1:])
    return name.startswith("efface.") and (path.is_dir() or path.with_suffix(".py").is_file())


def allowed(file: str, target: str) -> bool:
    """May this file of the package (``protect/linear/isp.py``) import that efface module?"""
    if (file, target) in UPWARD:
        return True
    source = file.removesuffix(".py").split("/")[0].removesuffix("__init__")
    wanted = package_of(target)
    if source == "testing":
        return wanted == source or LEVEL.get(wanted, 99) < LEVEL["auditing"]
    if source in ONLY:
        inside = target.removeprefix("efface.")
        return any(inside == seen or inside.startswith(f"{seen}.") for seen in ONLY[source])
    if wanted == source or (source, wanted) in NEIGHBOURS:
        return True
    if source in NOUNS and wanted in NOUNS:
        return True
    return LEVEL.get(wanted, 99) < LEVEL.get(source, -1)


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


@pytest.mark.parametrize(
    ("file", "target", "expected"),
    [
        ("types.py", "efface.results", True),
        ("types.py", "efface.registry", False),
        ("results.py", "efface.report", True),
        ("results.py", "efface.report.html", False),
        ("types.py", "efface.report", False),
        ("registry.py", "efface.errors", True),
        ("registry.py", "efface.protect.linear.isp", False),
        ("protect/linear/isp.py", "efface.protect.linear.eraser", True),
        ("protect/linear/isp.py", "efface.registry", True),
        ("protect/linear/isp.py", "efface.attack.verify.ridge", False),
        ("attack/verify/ridge.py", "efface.protect.linear.isp", False),
        ("attack/verify/ridge.py", "efface.measure.rates", False),
        ("attack/verify/ridge.py", "efface", False),
        ("measure/pairs.py", "efface.measure.tails", True),
        ("measure/pairs.py", "efface.registry", False),
        ("diagnose/subspace.py", "efface.measure.intervals", True),
        ("data/samples.py", "efface.measure.intervals", False),
        ("export/faiss.py", "efface.protect.linear.eraser", True),
        ("export/faiss.py", "efface.protect.linear.isp", False),
        ("export/faiss.py", "efface.registry", False),
        ("auditing/run.py", "efface.export.safetensors", True),
        ("auditing/run.py", "efface.report", False),
        ("report/html.py", "efface.auditing.run", True),
        ("report/html.py", "efface.cli.main", False),
        ("api.py", "efface.report", True),
        ("report/html.py", "efface.api", False),
        ("cli/main.py", "efface", True),
        ("vault/routes.py", "efface.serve.desk", True),
        ("serve/app.py", "efface.vault.app", False),
        ("protect/template/mrp.py", "efface.vault.store", False),
        ("__init__.py", "efface.auditing", True),
        ("testing/games.py", "efface.protect.linear.isp", True),
        ("testing/__init__.py", "efface.testing.games", True),
        ("testing/games.py", "efface.auditing", False),
        ("auditing/run.py", "efface.testing", False),
        ("auditing/run.py", "efface.newcomer", False),
    ],
)
def test_the_rule_itself(file: str, target: str, expected: bool) -> None:
    assert allowed(file, target) is expected


def test_imports_are_read_wherever_and_however_they_stand() -> None:
    code = """
import efface.auditing
from efface import errors, ISP
from . import eraser
from .eraser import LinearEraser
from ...types import Samples
def late():
    from efface.report import save
"""
    found = set(imported(ast.parse(code), "efface.protect.linear.isp", is_package=False))
    assert found == {
        "efface.auditing",
        "efface.errors",
        "efface",
        "efface.protect.linear.eraser",
        "efface.types",
        "efface.report",
    }
    inside = set(imported(ast.parse("from . import linear"), "efface.protect", is_package=True))
    assert inside == {"efface.protect.linear"}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_point_down(path: Path) -> None:
    file = path.relative_to(SOURCE).as_posix()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = imported(tree, name_of(path), path.name == "__init__.py")
    ours = {m for m in found if m == "efface" or m.startswith("efface.")}
    wrong = sorted(m for m in ours if not allowed(file, m))
    assert not wrong, f"{file} must not import {', '.join(wrong)}"


def test_every_package_has_a_level() -> None:
    present = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in FILES}
    assert present - {"__init__", "__main__", "testing"} <= set(LEVEL)


def test_measure_is_numpy_and_special_functions() -> None:
    for path in (SOURCE / "measure").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found = set(imported(tree, name_of(path), is_package=False)) - {"scipy.special"}
        roots = {m.split(".")[0] for m in found}
        outside = roots - set(sys.stdlib_module_names) - {"efface", "numpy"}
        assert not outside, f"measure/{path.name} imports {outside}"


# --- what importing costs -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("efface", "torch onnxruntime matplotlib sklearn scipy pyarrow jinja2"),
        ("efface.cli.main", "torch onnxruntime matplotlib sklearn"),
        ("efface.testing", "torch onnxruntime matplotlib sklearn scipy pyarrow"),
    ],
)
def test_importing_stays_light(module: str, absent: str) -> None:
    code = f"import sys, {module}; print(*sorted(set('{absent}'.split()) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_that_test_would_notice() -> None:
    assert importlib.util.find_spec("scipy")
    code = "import sys, scipy, efface; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


# --- what the code may never do -------------------------------------------------------------

UNSAFE_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}


def unsafe(tree: ast.AST) -> Iterator[str]:
    """Lines that load code from data, run text, or validate with ``assert``."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Assert):
            yield f"line {line}: assert disappears under python -O; raise an efface error"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [a.name for a in node.names] + [getattr(node, "module", "") or ""]
            for name in UNSAFE_MODULES & {n.split(".")[0] for n in names}:
                yield f"line {line}: {name}"
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in {"eval", "exec", "__import__"}:
                yield f"line {line}: {node.func.id}()"
            for keyword in node.keywords:
                safe = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
                if keyword.arg == "allow_pickle" and not safe:
                    yield f"line {line}: allow_pickle"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_pickle_no_eval_no_assert(path: Path) -> None:
    assert list(unsafe(ast.parse(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    "code",
    [
        "assert x",
        "import pickle",
        "from pickle import loads",
        "import joblib.externals",
        "eval('1')",
        "exec(text)",
        "np.load(f, allow_pickle=True)",
        "np.load(f, allow_pickle=flag)",
    ],
)
def test_unsafe_code_is_seen(code: str) -> None:
    assert len(list(unsafe(ast.parse(code)))) == 1


def test_safe_code_is_left_alone() -> None:
    code = "import json\nmodel.eval()\nnp.load(f, allow_pickle=False)\nraise AssertionError('x')"
    assert list(unsafe(ast.parse(code))) == []
