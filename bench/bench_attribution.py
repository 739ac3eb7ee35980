"""Attribution beside the encodings it needs: how much do faces, masks, swaps and figures add?

Rendered people as files, their faces given, each picture a query. The peer is the bare encoder on
as many pictures of the same size, in batches of the same size, with all cores. A second run shows
what it costs when everything is remembered.

    python bench/bench_attribution.py [--pictures 1000] [--encoder FILE] [--workers 1]

The network made here takes about as long as EfficientNet-Lite0; a faster encoder makes the same
geometry a larger share.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from efface.attributing.run import attribution
from efface.attributing.settings import Settings
from efface.attributing.survey import Finder
from efface.data.rendered.png import write_png
from efface.data.rendered.world import World, stream
from efface.encoders.choose import open_encoder
from efface.encoders.declared import Declared, Sheet
from machine import describe

LIMIT = 1.2
EACH, SIZE = 3, 160
_SAMPLE = 1100
"""Pictures on which the bare encoder is timed."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pictures", type=int, default=1000)
    parser.add_argument("--encoder", help="an ONNX file; by default one that is made here")
    parser.add_argument("--workers", type=int, default=1, help="processes beside the encoder's")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        faces = people(place, args.pictures)
        path = args.encoder or str(network(place / "network.onnx"))
        encoder = open_encoder(path, Sheet(preprocessing=Declared(normalise="imagenet")))

        def run() -> tuple[object, float, float]:
            return timed(lambda: attribution(
                place / "people", [encoder], settings=Settings(per_person=EACH),
                finder=Finder(faces=str(faces)), cache=place / "cache", workers=args.workers,
            ))  # fmt: skip

        run_small(place, encoder, faces)
        bare, bare_cpu = alone(encoder)
        found, seconds, cpu = run()
        after, _ = alone(encoder)
        _, again, _ = run()
    return report(found, (seconds, cpu), ((bare + after) / 2, bare_cpu), again)


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


def run_small(place: Path, encoder: object, faces: Path) -> None:
    """Warm: modules loaded, matrices of the blurs made."""
    attribution(
        place / "people", [encoder], settings=Settings(per_person=1, people=2, bootstrap=100),  # type: ignore[list-item]
        finder=Finder(faces=str(faces)), cache=place / "warm",
    )  # fmt: skip


def alone(encoder: object) -> tuple[float, float]:
    """Seconds and processor seconds of the bare encoder for each picture."""
    rng = np.random.default_rng(0)
    side = encoder.facts.preprocessing.height  # type: ignore[attr-defined]
    stack = rng.integers(0, 256, (11, side, side, 3), np.uint8)
    encoder.encode(stack)  # type: ignore[attr-defined]

    def work() -> None:
        for _ in range(_SAMPLE // 11):
            encoder.encode(stack)  # type: ignore[attr-defined]

    _, seconds, cpu = timed(work)
    return seconds / _SAMPLE, cpu / _SAMPLE


def timed(work: object) -> tuple[object, float, float]:
    """What came of it, seconds on the clock, and of all processors, workers' included."""
    start, before = time.perf_counter(), _cpu()
    out = work()  # type: ignore[operator]
    return out, time.perf_counter() - start, _cpu() - before


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def report(
    found: object, total: tuple[float, float], bare: tuple[float, float], again: float
) -> int:
    view, drawn = found.views[0], found.drawn  # type: ignore[attr-defined]
    needed, cpu = view.encoded * bare[0], view.encoded * bare[1]
    ratio = total[0] / needed
    print(f"{describe()}\n")
    print(f"| {found.pictures.found:,} pictures, {drawn.queries:,} queries | seconds | processor |")  # type: ignore[attr-defined]
    print("|---|---|---|")
    each = f"{1000 * bare[0]:.1f} ms each"
    print(f"| {view.encoded:,} encodings, {view.name} alone, {each} | {needed:.1f} | {cpu:.1f} |")
    print(f"| attribution, nothing remembered | {total[0]:.1f} | {total[1]:.1f} |")
    print(f"| attribution again, everything remembered | {again:.1f} | |")
    print(f"| ratio (at most {LIMIT}) | {ratio:.2f} | {total[1] / cpu:.2f} |")
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
