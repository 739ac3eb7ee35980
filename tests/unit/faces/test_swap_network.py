"""The slot for a swap network, with one whose answer is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drawn_faces import UPRIGHT, smooth

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

import tiny_detectors as tiny

from efface.errors import DataError
from efface.faces.face import Outcome
from efface.faces.mask import face_masks
from efface.faces.swap_network import open_swap_network

ONE = UPRIGHT[None]


def level(value: float):
    """A recogniser whose vector, of length one, begins with this number."""
    return lambda faces: np.tile([np.sqrt(1 - value**2), value, 0, 0], (len(faces), 1))


def test_the_map_in_the_file_is_found_and_used(tmp_path: Path) -> None:
    """The map turns places by one, so the network sees the vector's last number first: nought."""
    plain = open_swap_network(tiny.swapper(tmp_path / "p.onnx", mapped=False), level(0.6))
    mapped = open_swap_network(tiny.swapper(tmp_path / "m.onnx"), level(0.6))
    assert plain.map is None
    assert mapped.map is not None
    source = smooth(1)
    assert plain._identity(source, UPRIGHT)[0, 0] == pytest.approx(0.8)
    assert mapped._identity(source, UPRIGHT)[0, 0] == pytest.approx(0)
    assert mapped._identity(source, UPRIGHT)[0, 1] == pytest.approx(0.8)


def test_a_flat_face_takes_the_colour_of_the_place_and_nothing_else_changes(tmp_path: Path) -> None:
    """This network's face is all of one grey. Its gradients are none, so what is blended in is
    a smooth filling, as far as the edge's colours reach."""
    network = open_swap_network(tiny.swapper(tmp_path / "p.onnx", mapped=False), level(0.6))
    target = smooth(0)
    made = network([target], ONE, [smooth(1)], ONE)
    mask = face_masks(ONE, (224, 224), 0.9)[0]
    assert made.outcomes == (Outcome.ONE,)
    assert np.array_equal(made.pictures[0][~mask], target[~mask])
    inner = face_masks(ONE, (224, 224), 0.5)[0]
    assert made.pictures[0][inner].std(axis=0).max() < 0.5 * target[inner].std(axis=0).max()


def test_faults_are_named_and_the_network_is_not_asked(tmp_path: Path) -> None:
    def refuse(faces):
        raise RuntimeError("asked")

    network = open_swap_network(tiny.swapper(tmp_path / "p.onnx"), refuse)
    target = smooth(0)
    made = network([target], ONE[:, [1, 0, 2, 4, 3]], [target], ONE)
    assert made.outcomes == (Outcome.MIRRORED,)
    assert np.array_equal(made.pictures[0], target)


def test_what_is_no_swap_network_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is no swap network"):
        open_swap_network(tiny.yunet(tmp_path / "y.onnx"), level(0))
    with pytest.raises(DataError, match="not 100"):
        open_swap_network(tiny.swapper(tmp_path / "s.onnx", side=100), level(0))
