"""Template schemes: what is stored of a person, and how a later picture is checked against it."""

from __future__ import annotations

from efface.hazmat.derive import Argon2id, Blake2b
from efface.hazmat.lattice import Shape
from efface.protect.template.bases import Bases, Memory, Shared
from efface.protect.template.biohash import BioHash
from efface.protect.template.facial_fe import FacialFE
from efface.protect.template.hardening import Hardening
from efface.protect.template.l2fe_hash import L2FEHash
from efface.protect.template.mrp import MRP
from efface.protect.template.pool import Pool
from efface.protect.template.record import pack, unpack
from efface.protect.template.stored import describe, restore

__all__ = [
    "MRP",
    "Argon2id",
    "Bases",
    "BioHash",
    "Blake2b",
    "FacialFE",
    "Hardening",
    "L2FEHash",
    "Memory",
    "Pool",
    "Shape",
    "Shared",
    "describe",
    "pack",
    "restore",
    "unpack",
]
