"""``efface export``: a projector as a file for another program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from efface.cli import options
from efface.errors import ArtefactError

if TYPE_CHECKING:
    from efface.protect.linear.eraser import LinearEraser

FORMS = ("faiss", "onnx", "torch", "json", "npz")


@click.command()
@click.argument("projector", type=click.Path())
@click.option("--to", "form", type=click.Choice(FORMS), required=True, help="Kind of file.")
@click.option("--out", type=click.Path(), required=True, help="The new file.")
@click.option(
    "--compact", is_flag=True, help="faiss: the index gets as few dimensions as are left."
)
@click.option("--encoder", type=click.Path(), help="onnx: put the eraser behind this encoder.")
@click.option("--output", metavar="NAME", help="onnx: the encoder's output to erase.")
@options.quiet_warnings
def export(
    projector: str, form: str, out: str, compact: bool, encoder: str | None, output: str | None
) -> int:
    """Write PROJECTOR as a file that another program runs without efface."""
    from efface.export.safetensors import load_eraser

    _check_options(form, compact, encoder, output)
    options.check_order(projector, out, f"efface export {out} --to {form} --out {projector}")
    target = _new(options.writable_file(out))
    eraser = load_eraser(projector)
    writers: dict[str, Callable[[], str]] = {
        "faiss": lambda: _faiss(eraser, target, compact),
        "onnx": lambda: _onnx(eraser, target, encoder, output),
        "torch": lambda: _torch(eraser, target),
        "json": lambda: _json(eraser, target),
        "npz": lambda: _npz(eraser, target),
    }
    said = writers[form]()
    click.echo(f"{target}: {said}; {eraser.rank} of {eraser.dim} directions removed")
    return 0


def _new(target: Path) -> Path:
    if target.exists():
        raise ArtefactError(f"{target}: is there already: remove it, or give another name")
    return target


def _check_options(form: str, compact: bool, encoder: str | None, output: str | None) -> None:
    if compact and form != "faiss":
        raise click.UsageError("--compact goes with --to faiss only")
    if encoder is not None and form != "onnx":
        raise click.UsageError("--encoder goes with --to onnx only")
    if output is not None and encoder is None:
        raise click.UsageError("--output names an output of the --encoder: give both")


def _faiss(eraser: LinearEraser, target: Path, compact: bool) -> str:
    from efface.export.faiss import faiss_chain, index_dim, save_faiss
    from efface.extras import need

    dim = index_dim(eraser, compact_form=compact)
    index = need("faiss", "faiss").IndexFlatIP(dim)
    save_faiss(faiss_chain(eraser, index, compact_form=compact), target)
    return f"FAISS chain before an empty flat index of {dim} dimensions, inner product"


def _onnx(eraser: LinearEraser, target: Path, encoder: str | None, output: str | None) -> str:
    from efface.export.onnx import append_to_encoder, onnx_model, save_onnx

    if encoder is None:
        save_onnx(onnx_model(eraser), target)
        return "ONNX graph, input raw, output clean"
    save_onnx(append_to_encoder(encoder, eraser, output), target)
    return f"{Path(encoder).name} with the eraser behind it, output clean"


def _torch(eraser: LinearEraser, target: Path) -> str:
    from efface.export.torch import save_torch, torch_module

    save_torch(torch_module(eraser), target)
    return "PyTorch state as safetensors"


def _json(eraser: LinearEraser, target: Path) -> str:
    from efface.export.plain import FORMAT, save_json

    save_json(eraser, target)
    return FORMAT


def _npz(eraser: LinearEraser, target: Path) -> str:
    from efface.export.plain import save_npz

    save_npz(eraser, target)
    return "NumPy arrays"
