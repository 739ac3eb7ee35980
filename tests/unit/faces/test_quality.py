"""The record of a batch, by hand; and dlib's chips beside those that others cut."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drawn_faces import found, noise

from efface.faces.annulus import equal_area_annuli
from efface.faces.crop import crops
from efface.faces.face import Face, Finding, Outcome
from efface.faces.mask import face_masks
from efface.faces.quality import quality


def test_the_record_counts_all_pictures_and_measures_those_used() -> None:
    findings = [
        found((60, 50, 140, 160)), Finding(Outcome.NONE), found((-60, 0, 30, 90)),
        found((80, 60, 150, 150)),
    ]  # fmt: skip
    made = crops([noise(k) for k in range(4)], findings)
    masks = face_masks(made.landmarks, (224, 224))
    rings = equal_area_annuli(masks)
    record = quality(made, masks, rings)
    assert (record.pictures, record.used, record.unmatched) == (4, 2, 0)
    assert record.outcomes == {"one face": 2, "no face": 1, "face at the border": 1}
    assert record.coverage.mean == pytest.approx(0.33, abs=0.004)
    assert record.padding.largest == made.padding.max()
    assert record.area_difference.largest == np.abs(rings.difference).max()
    shares = [
        mask[slice(*np.rint(face.box[[1, 3]]).astype(int)),
             slice(*np.rint(face.box[[0, 2]]).astype(int))].mean()
        for mask, face in zip(masks, made.faces, strict=True)
    ]  # fmt: skip
    assert record.ellipse.mean == pytest.approx(np.mean(shares))
    assert record.ellipse.deviation == pytest.approx(np.std(shares))


def test_a_record_of_nothing_has_no_numbers() -> None:
    made = crops([noise(0)], [Finding(Outcome.NONE)])
    masks = face_masks(made.landmarks, (224, 224))
    record = quality(made, masks, equal_area_annuli(masks))
    assert (record.pictures, record.used) == (1, 0)
    assert np.isnan(record.coverage.mean)


@pytest.mark.shared
def test_dlib_s_chips_give_its_vectors_again(shared: Path) -> None:
    dlib = pytest.importorskip("dlib")
    from PIL import Image

    from efface.encoders.dlib import package_file
    from efface.faces.dlib_chips import open_chips

    lfw = shared / "data" / "lfw"
    known, theirs = np.load(lfw / "landmarks.npz"), np.load(lfw / "embeddings" / "dlib128.npz")
    rows = np.arange(0, 4200, 300)
    pictures = [np.asarray(Image.open(lfw / "images" / known["name"][r])) for r in rows]
    faces = [Face(known["box"][r, :4], known["landmarks"][r]) for r in rows]
    weights = str(package_file("dlib_face_recognition_resnet_model_v1.dat"))
    network = dlib.face_recognition_model_v1(weights)
    vectors = np.array(network.compute_face_descriptor([*open_chips()(pictures, faces)]))
    away = np.linalg.norm(vectors - theirs["embedding"][rows].astype(float), axis=1)
    assert np.median(away) < 0.002
    assert away.max() < 0.2
