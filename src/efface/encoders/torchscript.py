"""TorchScript files: any, with a declared preprocessing, and SSCD as its authors publish it.

TorchScript is code: a file from somebody you do not trust can do harm when it is loaded.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from efface.encoders.base import BATCH, NetworkEncoder
from efface.encoders.declared import Declared, Sheet, declaration, resolve
from efface.encoders.numbers import Network, numbers
from efface.encoders.pooling import pooled
from efface.encoders.weights import digest, existing, refuse_other
from efface.errors import DataError
from efface.extras import need
from efface.facts import EncoderFacts, Preprocessing
from efface.registry import register
from efface.results import Card
from efface.types import Floats


@register(
    Card(
        role="encoder",
        name="torchscript",
        summary="Any TorchScript file that takes a batch of pictures, its preprocessing declared.",
        accepts="image",
        yields="embedding",
        needs="a TorchScript file; a TOML beside it or options that say what it wants",
        paper="the network's own",
        licence="the weights' own",
    )
)
@dataclass
class TorchScript(NetworkEncoder):
    """Such a file says nothing of its input: everything but the dimension is declared."""

    path: str
    declared: Sheet | None = None
    batch: int = BATCH
    layout: ClassVar[str] = "NCHW"

    def _loaded(self) -> tuple[EncoderFacts, Network]:
        path = existing(self.path)
        sheet = self._sheet(path)
        weights = digest([path])
        refuse_other(path, weights, sheet.sha256)
        found = {"layout": self.layout}
        preprocessing, assumed = resolve(sheet.preprocessing, found, str(path))
        network = Script(_module(path), sheet.pooling or "")
        facts = EncoderFacts(
            name=sheet.name or path.name.split(".")[0], kind=type(self).card.name,  # type: ignore[attr-defined]
            weights=weights, dimension=_probed(path, network, preprocessing),
            preprocessing=preprocessing, alignment=sheet.alignment or "none",
            pooling=sheet.pooling or "", licence=sheet.licence, source=sheet.source,
            assumed=assumed,
        )  # fmt: skip
        return facts, network

    def _sheet(self, path: Path) -> Sheet:
        return declaration(path, self.declared or Sheet())


@register(
    Card(
        role="encoder",
        name="sscd",
        summary="SSCD, for copy detection, as TorchScript: 288 on the shorter side or 320 x 320.",
        accepts="image",
        yields="embedding",
        needs="the TorchScript file of its authors",
        paper="Pizzi et al., A self-supervised descriptor for image copy detection, CVPR 2022",
        licence="the weights' own",
    )
)
@dataclass
class SSCD(TorchScript):
    """Both preprocessings of the authors: 320 x 320 goes in batches, 288 keeps proportions."""

    side: Literal[288, 320] = 320

    def _sheet(self, path: Path) -> Sheet:
        if self.side not in (288, 320):
            raise DataError(f"SSCD is published for 288 or 320 pixels, not {self.side}")
        size = (
            Declared(size=320, fit="squash", normalise="imagenet", colour="RGB", filter="bilinear")
            if self.side == 320
            else Declared(fit="shorter", shorter=288, normalise="imagenet", colour="RGB",
                          filter="bilinear")
        )  # fmt: skip
        return super()._sheet(path).over(Sheet(preprocessing=size))


@dataclass
class Script:
    """A module in evaluation mode, from a batch of numbers to vectors."""

    module: Any
    pooling: str

    def __call__(self, batch: Any) -> Floats:
        torch = need("torch", "torch")
        with torch.inference_mode():
            found = self.module(torch.from_numpy(batch))
        if not isinstance(found, torch.Tensor):
            raise DataError(f"the script gives {type(found).__name__}, not one tensor of vectors")
        return pooled(found.float().cpu().numpy(), self.pooling)


def _module(path: Path) -> Any:
    torch = need("torch", "torch")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that TorchScript is an old format
            return torch.jit.load(str(path), map_location="cpu").eval()
    except Exception as error:  # torch has RuntimeError, ValueError and others for a damaged file
        why = str(error).strip().split("\n")[0][:200]
        raise DataError(f"{path}: is no TorchScript file that loads here ({why})") from error


def _probed(path: Path, network: Script, made: Preprocessing) -> int:
    """Run two grey pictures through: the dimension, and whether it is an encoder at all."""
    grey = np.full((2, made.height, made.width, 3), 128, np.uint8)
    try:
        found = network(numbers(grey, made))
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    except Exception as error:  # whatever the script raises
        why = str(error).strip().split("\n")[-1][:200]
        raise DataError(
            f"{path}: does not take {made.height} x {made.width} pictures ({why}): declare another "
            "size"
        ) from error
    if found.ndim != 2 or len(found) != 2 or found.shape[1] < 2:
        shape = " x ".join(map(str, found.shape))
        raise DataError(f"{path}: is no encoder: for two pictures it gives {shape}, not 2 x d")
    return int(found.shape[1])
