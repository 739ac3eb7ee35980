"""``efface serve``: a projector as an HTTP service."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from efface.errors import ArtefactError

if TYPE_CHECKING:
    from efface.export.safetensors import Projector

_UNITS = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "KB": 10**3, "MB": 10**6,
          "GB": 10**9}  # fmt: skip


class Size(click.ParamType[int]):
    """Bytes as a number, or with KiB, MiB, GiB, kB, MB or GB."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+) ?([KMG]?i?B|)", str(value).strip(), re.IGNORECASE)
        unit = found and _UNITS.get(found[2].upper())
        if not found or not unit or int(found[1]) < 1:
            self.fail(f"{value!r} is no size: give bytes, or for example 64MiB", param, ctx)
        return int(found[1]) * unit


@click.command()
@click.option("--projector", type=click.Path(), required=True, help="Made by 'efface fit'.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: a free one."
)
@click.option("--max-batch", type=click.IntRange(1), default=4096, show_default=True,
              help="Vectors in one request.")  # fmt: skip
@click.option("--max-body", type=Size(), default="64MiB", show_default=True, help="Of one request.")
@click.option("--concurrency", type=click.IntRange(1), metavar="N",
              help="Requests computed at one time; one per core by default.")  # fmt: skip
@click.option("--queue", type=click.IntRange(0), default=64, show_default=True,
              help="Requests that may wait; the others get 503 at once.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=30.0,
              show_default=True, help="Seconds for a body to arrive, or a thread.")  # fmt: skip
@click.option("--expect-signature", type=click.Path(), metavar="KEY.pub",
              help="Refuse a projector that this key has not signed.")  # fmt: skip
def serve(projector: str, host: str, port: int, expect_signature: str | None, **typed: Any) -> int:
    """Serve a projector over HTTP: POST /v1/erase, /v1/projector, /healthz, /metrics, /docs.

    There is no encryption and no login: keep it on a trusted network or behind a proxy.
    """
    from efface.export.safetensors import read_projector
    from efface.extras import need

    for module in ("fastapi", "uvicorn", "prometheus_client"):
        need(module, "serve")
    from efface.serve.app import create_app, warm_up
    from efface.serve.limits import Limits
    from efface.serve.server import listen, run, url

    found = read_projector(projector)
    if expect_signature is not None:
        _expect(found, projector, expect_signature)
    warm_up(found.eraser)
    limits = Limits(**{name: value for name, value in typed.items() if value is not None})
    app, listening = create_app(found, limits), listen(host, port)
    click.echo(
        f"{projector}: {found.eraser.rank} of {found.eraser.dim} directions removed, "
        f"served at {url(listening)}"
    )
    run(app, listening, limits)
    return 0


def _expect(found: Projector, path: str, key: str) -> None:
    """Check the signature over the very bytes that were loaded."""
    from efface.export.keys import load_public
    from efface.export.signature import beside, read_signature, verify_digest

    why = verify_digest(found.sha256, read_signature(beside(path)), load_public(key))
    if why:
        raise ArtefactError(
            f"{path}: its signature is not valid: {why}; serve the file that was signed, or sign "
            "this one"
        )
