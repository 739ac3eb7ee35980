"""Verifications over HTTP by a vault on PostgreSQL, with 1, 16 and 64 clients.

L2FE-Hash at the paper's size (m = 180, l = 60, q = 130003), once with BLAKE2b and once with
Argon2id. Every client is a user of its own and sends a face that is accepted; the audit log is
counted afterwards. People share one basis, because preparing one takes seconds and decoding with
it costs the same. What the hash and the whole comparison cost without a service is shown apart.

    python bench/bench_vault.py [--seconds 8] [--clients 1,16,64]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bench_serve import running
from efface.errors import EffaceWarning
from efface.hazmat.derive import KeyDerivation
from efface.protect.template import Argon2id, Blake2b, Hardening, L2FEHash, Shared
from efface.protect.template.basis_file import read_basis, write_basis
from efface.types import Samples
from efface.vault.app import MAX_BODY, create_app
from efface.vault.attempts import Rule, Rules
from efface.vault.configurations import Configurations
from efface.vault.service import Vault
from efface.vault.store import Store
from http_load import Load, load_each
from machine import describe

DIM, PEOPLE = 512, 64
BASIS = "EFFACE_BENCH_BASIS"
HASHES: tuple[KeyDerivation, ...] = (Blake2b(), Argon2id())
FREE = Rules(Rule(10**6, 1.0), Rule(10**6, 1.0))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--clients", default="1,16,64")
    args = parser.parse_args()
    counts = [int(n) for n in args.clients.split(",")]
    warnings.simplefilter("ignore", EffaceWarning)
    print(f"{describe()}\n\nPostgreSQL on this machine, {args.seconds} s each\n")
    print("| hash | clients | verifications/s | p50 ms | p99 ms | failed | hash alone ms "
          "| comparison alone ms |\n|---|---|---|---|---|---|---|---|")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        os.environ[BASIS] = str(Path(folder) / "basis.npz")
        shared = Shared(1)
        write_basis(Path(os.environ[BASIS]), shared.fresh(L2FEHash().shape, bytes(32)))
        return 1 if sum(case(kdf, counts, args.seconds, shared) for kdf in HASHES) else 0


def case(kdf: KeyDerivation, counts: list[int], seconds: int, bases: Shared) -> int:
    """The lines of one hash; how many requests failed."""
    failed = 0
    with database() as address:
        vault, faces = filled(address, kdf, bases)
        alone = cost(kdf), comparison(vault, faces)
        bodies = [
            json.dumps({"user": f"user {n}", "vectors": face.tolist()}).encode()
            for n, face in enumerate(faces)
        ]
        with running(vault_server, address) as server:
            load_each(server.port, "/v1/verify", bodies, "application/json", 3)  # bases, statements
            for count in counts:
                before = accepted(vault)
                found = load_each(
                    server.port, "/v1/verify", bodies[:count], "application/json", seconds
                )
                if accepted(vault) - before != found.requests:
                    raise RuntimeError("answers that were no acceptance: the figures mean nothing")
                failed += found.bad
                print(line(kdf, count, found, *alone), flush=True)
        vault.store.close()
    return failed


def filled(address: str, kdf: KeyDerivation, bases: Shared) -> tuple[Vault, np.ndarray]:
    """A vault with everybody in it, and a second picture of each."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((PEOPLE, DIM)).astype(np.float32)
    names = np.array([str(n) for n in range(PEOPLE)])
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    hardening = Hardening(kdf=kdf, pepper=os.urandom(32))
    scheme = L2FEHash(hardening=hardening, bases=bases)
    scheme.fit(Samples(unit, np.arange(PEOPLE), names))
    pepper = scheme.hardening.secret() or b""
    os.environ["EFFACE_VAULT_PEPPER"] = pepper.hex()  # the server is a child of this process
    vault = opened(address, bases)
    vault.store.create()
    vault.configure(scheme, first=True)
    for n, face in enumerate(unit):
        vault.enrol(f"user {n}", face)
    return vault, unit + 0.001 * rng.standard_normal(unit.shape).astype(np.float32)


def opened(address: str, bases: Shared) -> Vault:
    from efface.vault.peppers import read_peppers

    store = Store(address)
    return Vault(store, Configurations(store, lambda: read_peppers(None), lambda _: bases), FREE)


def vault_server(port: int, address: str) -> None:
    from efface.serve.limits import Limits
    from efface.serve.server import listen, run

    warnings.simplefilter("ignore", EffaceWarning)
    shared = Shared(1)
    shared.remember(read_basis(Path(os.environ[BASIS])))
    limits = Limits(max_body=MAX_BODY)
    run(create_app(opened(address, shared), limits), listen("127.0.0.1", port), limits)


def accepted(vault: Vault) -> int:
    with vault.store.begin() as connection:
        query = "SELECT count(*) FROM vault_audit WHERE outcome = 'accepted'"
        return int(connection.exec_driver_sql(query).scalar_one())


# --- what it costs without a service --------------------------------------------------------


def cost(kdf: KeyDerivation) -> float:
    key, message = bytes(32), bytes(240)
    return timed(lambda: kdf.derive(key, message))


def comparison(vault: Vault, faces: np.ndarray) -> float:
    found = vault.configurations.current()
    scheme, owner = found.scheme, found.owner("somebody")
    template = scheme.enrol(faces[0], np.random.default_rng(1), owner)
    return timed(lambda: scheme.verify(template, faces[0], owner))


def timed(work: Any) -> float:
    """Milliseconds of one call, the median of nine rounds."""
    start, calls = time.perf_counter(), 0
    while time.perf_counter() - start < 0.05:
        work()
        calls += 1
    rounds = []
    for _ in range(9):
        start = time.perf_counter()
        for _ in range(calls):
            work()
        rounds.append((time.perf_counter() - start) / calls * 1e3)
    return float(np.median(rounds))


def line(kdf: KeyDerivation, count: int, found: Load, hashed: float, compared: float) -> str:
    cells = [
        str(kdf.settings()["kdf"]), str(count), f"{found.rate:,.0f}", f"{found.p50:.1f}",
        f"{found.p99:.1f}", str(found.bad), f"{hashed:.4g}", f"{compared:.3g}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


@contextmanager
def database() -> Iterator[str]:
    """A server of its own, durable as PostgreSQL is by default."""
    import pgserver

    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        server = pgserver.get_server(folder, cleanup_mode="stop")
        try:
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            server.cleanup()


if __name__ == "__main__":
    multiprocessing.freeze_support()
    sys.exit(main())
