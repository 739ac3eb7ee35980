"""``efface encode`` against a bare loop of Pillow and onnxruntime, and its memory as pictures grow.

    python bench/bench_encode.py [--pictures 3000] [--network file.onnx] [--many 50000]

The bare program decodes with Pillow, brings to size and normalises a batch, in a thread for each
core and ahead of the session, and does nothing else: no hashes, no lists, no file. Both read the
same JPEGs and run the same network in alternating turns; the best turn of each counts, start-up
included. Memory is the peak of all processes together, their shared pages counted once, at a tenth
of the pictures and at all of them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from efface.data.rendered.world import World, stream
from efface.threads import cores
from machine import describe

LIMIT = 0.85
GROWTH = 1.15
BATCH = 32


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pictures", type=int, default=3000)
    parser.add_argument("--many", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--network", type=Path, help="takes n x 3 x 224 x 224; by default made up")
    parser.add_argument("--only", choices=["speed", "memory"])
    args = parser.parse_args()
    print(describe(), flush=True)
    fine = True
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        if args.only != "memory":
            network = args.network or made_network(root / "network.onnx", 224, 24)
            fine &= speed(root, network, args.pictures, args.repeats) >= LIMIT
        if args.only != "speed":
            fine &= memory(root, args.many) <= GROWTH
    return 0 if fine else 1


# --- speed ------------------------------------------------------------------------------------


def speed(root: Path, network: Path, count: int, repeats: int) -> float:
    """Throughput of ``efface encode`` as a share of the bare program's."""
    images = jpegs(root / "pictures", count, 256)
    ours, bare = [], []
    for turn in range(repeats):
        bare.append(timed(lambda: bare_loop(images, network)))
        ours.append(timed(lambda turn=turn: encode(images, network, root / f"{turn}.parquet")))  # type: ignore[misc]
    check(root / "0.parquet", images, network)
    ratio = min(bare) / min(ours)
    print(f"\n| program | pictures/s | of the bare one (at least {LIMIT}) |\n|---|---|---|")
    print(f"| onnxruntime and Pillow | {count / min(bare):.0f} | |")
    print(f"| efface encode | {count / min(ours):.0f} | {ratio:.2f} |", flush=True)
    return ratio


def timed(work: object) -> float:
    start = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - start


def bare_loop(images: Path, network: Path) -> NDArray[np.float32]:
    """What one writes in ten minutes, with threads that decode ahead."""
    session = onnxruntime.InferenceSession(str(network), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    paths = sorted(images.rglob("*.jpg"))
    batches = [paths[i : i + BATCH] for i in range(0, len(paths), BATCH)]
    with ThreadPoolExecutor(cores()) as pool:
        return np.concatenate([session.run(None, {name: x})[0] for x in ahead(pool, batches)])


def ahead(pool: ThreadPoolExecutor, batches: list[list[Path]]) -> Iterator[NDArray[np.float32]]:
    """A few batches under way, in order."""
    under_way = [pool.submit(numbers, batch) for batch in batches[:4]]
    for following in [*batches[4:], *[None] * 4]:
        if under_way:
            yield under_way.pop(0).result()
        if following is not None:
            under_way.append(pool.submit(numbers, following))


def numbers(paths: list[Path]) -> NDArray[np.float32]:
    pictures = [Image.open(path).convert("RGB").resize((224, 224), Image.Resampling.BILINEAR)
                for path in paths]  # fmt: skip
    x = np.stack([np.asarray(picture) for picture in pictures]).astype(np.float32)
    return np.ascontiguousarray(((x / 255 - 0.5) / 0.5).transpose(0, 3, 1, 2), np.float32)


def encode(images: Path, network: Path, out: Path) -> None:
    subprocess.run(command(images, network, out), check=True, stdout=subprocess.DEVNULL)


def command(images: Path, network: Path, out: Path) -> list[str]:
    return [
        sys.executable, "-m", "efface.cli.main", "encode", str(images), "--encoder", str(network),
        "--normalise", "half", "--out", str(out),
    ]  # fmt: skip


def check(out: Path, images: Path, network: Path) -> None:
    """Both programs did the same."""
    import pyarrow.parquet as pq

    flat = pq.read_table(out, columns=["embedding"]).column(0).combine_chunks().flatten()
    theirs = bare_loop(images, network)
    ours = np.asarray(flat).reshape(theirs.shape)
    if not np.allclose(ours, theirs, rtol=1e-3, atol=1e-4):
        raise SystemExit(f"the vectors differ by {np.abs(ours - theirs).max():.3g}")


# --- memory -----------------------------------------------------------------------------------


def memory(root: Path, many: int) -> float:
    """Peak of all processes at ``many`` pictures over that at a tenth of them."""
    network = made_network(root / "small.onnx", 32, 4)
    peaks = {}
    for start, count in ((0, many // 10), (many // 10, many)):
        images = fields(root / "fields", count, start)
        peaks[count] = peak(command(images, network, root / f"{count}.parquet"))
    ratio = peaks[many] / peaks[many // 10]
    print(f"\n| pictures | peak of all processes, MB | growth (at most {GROWTH}) |\n|---|---|---|")
    for count, found in peaks.items():
        print(f"| {count:,} | {found / 2**20:.0f} | {found / peaks[many // 10]:.2f} |", flush=True)
    return ratio


def peak(command: list[str]) -> int:
    """The largest sum over a process and its children of their proportional set sizes."""
    work = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    most = 0
    while work.poll() is None:
        most = max(most, sum(map(held, [work.pid, *children(work.pid)])))
        time.sleep(0.1)
    if work.returncode:
        raise SystemExit(f"encode ended with {work.returncode}")
    return most


def children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, task.read_text().split())
        except OSError:
            continue
    return [one for child in found for one in (child, *children(child))]


def held(pid: int) -> int:
    """Bytes of one process; pages that several share count for a part in each."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    line = next((line for line in text.splitlines() if line.startswith("Pss:")), "Pss: 0 kB")
    return int(line.split()[1]) * 1024


# --- what is worked on ------------------------------------------------------------------------


def jpegs(folder: Path, count: int, size: int) -> Path:
    """Rendered people, a folder for each."""
    people = -(-count // 10)
    number = 0
    for batch in stream(World(people, 10, size=size, seed=0)):
        for picture, person in zip(batch.pictures, batch.identity, strict=True):
            place = folder / f"p{person:05}"
            place.mkdir(parents=True, exist_ok=True)
            if number < count:
                Image.fromarray(picture).save(place / f"{number:06}.jpg", quality=92)
            number += 1
    return folder


def fields(folder: Path, count: int, start: int = 0) -> Path:
    """Small fields of colour, no two alike, of a person each ten."""
    rng = np.random.default_rng(start)
    for number in range(start, count):
        place = folder / f"p{number // 10:05}"
        place.mkdir(parents=True, exist_ok=True)
        field = Image.fromarray(rng.integers(0, 256, (9, 9, 3), np.uint8))
        field.resize((48, 48), Image.Resampling.BICUBIC).save(place / f"{number:06}.jpg")
    return folder


def made_network(path: Path, size: int, width: int) -> Path:
    """Six convolutions that halve the sides, then the mean: as costly as a small encoder."""
    rng = np.random.default_rng(0)
    nodes, weights, before, taken = [], [], 3, "image"
    for layer in range(6 if size > 64 else 3):
        after = min(width * 2**layer, 512)
        kernel = rng.normal(0, (2 / (9 * before)) ** 0.5, (after, before, 3, 3))
        weights.append(numpy_helper.from_array(kernel.astype(np.float32), f"w{layer}"))
        nodes += [
            helper.make_node("Conv", [taken, f"w{layer}"], [f"c{layer}"], kernel_shape=[3, 3],
                             strides=[2, 2] if layer else [1, 1], pads=[1, 1, 1, 1]),
            helper.make_node("Relu", [f"c{layer}"], [f"r{layer}"]),
        ]  # fmt: skip
        before, taken = after, f"r{layer}"
    nodes += [helper.make_node("GlobalAveragePool", [taken], ["pool"]),
              helper.make_node("Flatten", ["pool"], ["vector"])]  # fmt: skip
    given = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, size, size])
    out = helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["n", before])
    graph = helper.make_graph(nodes, "made-up", [given], [out], weights)
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path


if __name__ == "__main__":
    sys.exit(main())
