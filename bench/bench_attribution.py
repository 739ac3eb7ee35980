"""Attribution beside the encodings it needs: how much do faces, masks, swaps and figures add?

Rendered people as files, their faces given, each picture a query. The peer is the bare encoder on
as many pictures of the same size, in the command's batches and with its threads, half of them
before the command and half after it. The command is timed from the pictures to the report, with
an empty cache and again when everything is remembered.

    python bench/bench_attribution.py [--pictures 1000] [--encoder FILE] [--workers N] [--turns 1]

The network made here takes about as long as EfficientNet-Lite0; a faster encoder makes the same
geometry a larger share.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from efface.attributing.run import attribution
from efface.attributing.settings import Settings
from efface.attributing.survey import Finder
from efface.attributions import Attribution
from efface.data.rendered.png import write_png
from efface.data.rendered.world import World, stream
from efface.encoders.choose import open_encoder
from efface.encoders.declared import Declared, Sheet
from efface.threads import cores
from machine import describe

LIMIT = 1.2
EACH, SIZE = 3, 160
BATCHES = (11, 10)
"""Forms of a crop, and of its context match."""


@dataclass
class Spent:
    """Seconds on the clock, and of all processors."""

    seconds: float = 0.0
    processor: float = 0.0

    def add(self, work: Callable[[], Any]) -> Any:
        """Workers' processor seconds count when they have ended."""
        start, before = time.perf_counter(), _cpu()
        out = work()
        self.seconds += time.perf_counter() - start
        self.processor += _cpu() - before
        return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pictures", type=int, default=1000)
    parser.add_argument("--encoder", help="an ONNX file; by default one that is made here")
    parser.add_argument("--workers", type=int, default=cores(), help="as the command's option")
    parser.add_argument("--turns", type=int, default=1, help="how often everything is measured")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        faces = people(place, args.pictures)
        path = args.encoder or str(network(place / "network.onnx"))
        encoder = open_encoder(path, Sheet(preprocessing=Declared(normalise="imagenet")))
        command(place, "warm", encoder, faces, 1, Settings(per_person=1, people=2, bootstrap=100))
        bare, first, again = Spent(), Spent(), Spent()
        for turn in range(args.turns):
            found = turned(place, str(turn), encoder, faces, args.workers, (bare, first, again))
    return report(found, bare, first, again, args.turns)


def turned(
    place: Path, name: str, encoder: Any, faces: Path, workers: int, spent: tuple[Spent, ...]
) -> Attribution:
    """Half of the bare encodings, the command twice, the other half."""
    bare, first, again = spent
    settings = Settings(per_person=EACH)
    half = (sum(BATCHES) * sum(1 for _ in (place / "people").iterdir())) // 2
    bare.add(lambda: alone(encoder, half))
    found: Attribution = first.add(lambda: command(place, name, encoder, faces, workers, settings))
    again.add(lambda: command(place, name, encoder, faces, workers, settings))
    bare.add(lambda: alone(encoder, found.views[0].encoded - half))
    return found


def command(
    place: Path, name: str, encoder: Any, faces: Path, workers: int, settings: Settings
) -> Attribution:
    """What `efface attribute` does, from the pictures to the report."""
    found = attribution(
        place / "people", [encoder], settings=settings, finder=Finder(faces=str(faces)),
        cache=place / f"cache-{name}", workers=workers,
    )  # fmt: skip
    found.save(place / f"report-{name}")
    return found


def people(place: Path, pictures: int) -> Path:
    """Files in the manner of LFW, and their faces."""
    count = -(-pictures // EACH)
    names, boxes, points = [], [], []
    for batch in stream(World(count, EACH, size=SIZE, pose=0.5, seed=1)):
        for row in range(len(batch)):
            name = f"p{batch.identity[row]:05}_{len(names) % EACH + 1:04}.png"
            write_png(batch.pictures[row], place / "people" / name)
            names.append(name)
        boxes.append(batch.boxes)
        points.append(batch.landmarks)
    path = place / "faces.npz"
    np.savez(path, name=np.array(names), box=np.concatenate(boxes),
             landmarks=np.concatenate(points))  # fmt: skip
    return path


def network(path: Path) -> Path:
    """Convolutions of 1.7 G products."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    nodes, held, name = [], [], "image"
    plan = [(3, 64, 2), (64, 128, 2), (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1)]
    for k, (taken, given, stride) in enumerate(plan):
        weights = rng.standard_normal((given, taken, 3, 3)) * np.sqrt(2 / (9 * taken))
        held.append(numpy_helper.from_array(weights.astype(np.float32), f"w{k}"))
        nodes.append(helper.make_node("Conv", [name, f"w{k}"], [f"c{k}"], strides=[stride] * 2,
                                      pads=[1] * 4))  # fmt: skip
        nodes.append(helper.make_node("Relu", [f"c{k}"], [f"r{k}"]))
        name = f"r{k}"
    nodes.append(helper.make_node("GlobalAveragePool", [name], ["mean"]))
    nodes.append(helper.make_node("Flatten", ["mean"], ["vector"]))
    shape = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 224, 224])
    out = helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["n", 512])
    graph = helper.make_graph(nodes, "network", [shape], [out], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def alone(encoder: Any, count: int) -> None:
    """So many pictures through the bare encoder."""
    side = encoder.facts.preprocessing.height
    stack = np.random.default_rng(0).integers(0, 256, (max(BATCHES), side, side, 3), np.uint8)
    batches = cycle(BATCHES)
    while count > 0:
        some = min(next(batches), count)
        encoder.encode(stack[:some])
        count -= some


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def report(found: Attribution, bare: Spent, first: Spent, again: Spent, turns: int) -> int:
    drawn = found.drawn
    ratio = first.seconds / bare.seconds
    print(f"{describe()}, load {os.getloadavg()[0]:.1f}\n")
    print(f"| {found.pictures.found:,} pictures, {drawn.queries:,} queries | seconds | processor |")
    print("|---|---|---|")
    each = 1000 * bare.seconds / turns / encodings(found)
    rows = {
        f"{encodings(found):,} encodings by {found.views[0].name}, {each:.1f} ms each": bare,
        "attribution, nothing remembered": first,
        "attribution again, everything remembered": again,
    }
    for told, spent in rows.items():
        print(f"| {told} | {spent.seconds / turns:.1f} | {spent.processor / turns:.1f} |")
    share = first.processor / bare.processor
    print(f"| ratio (at most {LIMIT}) | {ratio:.2f} | {share:.2f} |")
    return 0 if ratio <= LIMIT else 1


def encodings(found: Attribution) -> int:
    return found.views[0].encoded


if __name__ == "__main__":
    sys.exit(main())
