"""A template is of one name under one configuration: a row that is moved, altered or brought back
from an older scheme lets nobody in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text
from vault_world import (
    OTHER_PEPPER,
    PEPPER,
    biohash,
    closing,
    face,
    l2fe,
    made,
    mrp,
    peppered,
    rows,
    vault_at,
)

from efface.errors import DataError, VaultError
from efface.protect.template import FacialFE, Hardening, describe, pack, restore, unpack
from efface.vault import dump
from efface.vault.configurations import owned
from efface.vault.peppers import tag
from efface.vault.seals import Sealed

pytestmark = pytest.mark.filterwarnings("ignore::efface.errors.EffaceWarning")
DATA = Path(__file__).parent / "data"
SCHEMES: dict[str, Callable[..., Any]] = {
    "mrp": mrp,
    "biohash": biohash,
    "l2fe-hash": l2fe,
    "facial-fe": lambda **given: FacialFE(scale=0.6, **given).fit(PEOPLE_),
}


def _people() -> Any:
    from vault_world import PEOPLE

    return PEOPLE


PEOPLE_ = _people()


def run(vault: Any, statement: str, **values: Any) -> None:
    with vault.store.begin() as connection:
        connection.execute(text(statement), values)


def swap(vault: Any, one: str, other: str) -> None:
    """Two rows exchange their templates, as who writes the database can do."""
    held = dict(rows(vault, 'SELECT "user", template FROM vault_people'))
    for name, blob in ((one, held[other]), (other, held[one])):
        run(vault, 'UPDATE vault_people SET template = :t WHERE "user" = :u', t=blob, u=name)


def peppers() -> tuple[bytes, ...]:
    return (PEPPER,)


# --- of a scheme ----------------------------------------------------------------------------


@pytest.mark.parametrize("pepper", [None, PEPPER])
@pytest.mark.parametrize("name", SCHEMES)
def test_a_template_is_of_its_owner(name: str, pepper: bytes | None) -> None:
    scheme = SCHEMES[name](hardening=Hardening(pepper=pepper, owner=True))
    template = scheme.enrol(face(0), np.random.default_rng(0), b"ann")
    assert scheme.verify(template, face(0), b"ann")
    assert not scheme.verify(template, face(0), b"bob")
    assert scheme.intact(template, b"ann")
    assert not scheme.intact(template, b"bob")
    assert scheme.guess(template, np.asarray(face(0), float)[None])[0] == (name != "none")
    again = restore(describe(scheme), pepper=pepper)
    assert again.settings()["owner"] is True
    with pytest.raises(DataError, match="owner=True"):
        scheme.verify(template, face(0))
    with pytest.raises(DataError, match="owner=True"):
        SCHEMES[name]().enrol(face(0), np.random.default_rng(0), b"ann")


@pytest.mark.parametrize("name", ["l2fe-hash", "facial-fe"])
def test_the_name_is_in_the_hash_and_not_only_beside_it(name: str) -> None:
    """Without a pepper somebody can write another digest of a name; the record still has the
    first."""
    scheme = SCHEMES[name](hardening=Hardening(owner=True))
    of_ann = scheme.enrol(face(0), np.random.default_rng(0), b"ann")
    of_bob = scheme.enrol(face(1), np.random.default_rng(1), b"bob")
    forged = with_part(of_ann, "owner", of_bob.helper["owner"])
    assert scheme.intact(forged, b"bob"), "the name beside it says bob"
    assert not scheme.verify(forged, face(0), b"bob")
    assert scheme.verify(of_ann, face(0), b"ann")


def test_without_a_pepper_who_compares_can_be_renamed() -> None:
    """What the docs say is not promised: a distance has no hash to hold the name."""
    scheme = mrp(hardening=Hardening(owner=True))
    of_ann, of_bob = (scheme.enrol(face(i), np.random.default_rng(i), n) for i, n in ((0, b"ann"),
                      (1, b"bob")))  # fmt: skip
    forged = with_part(of_ann, "owner", of_bob.helper["owner"])
    assert scheme.verify(forged, face(0), b"bob")
    sealed = mrp(hardening=Hardening(owner=True, pepper=PEPPER))
    of_ann, of_bob = (sealed.enrol(face(i), np.random.default_rng(i), n) for i, n in ((0, b"ann"),
                      (1, b"bob")))  # fmt: skip
    assert not sealed.verify(with_part(of_ann, "owner", of_bob.helper["owner"]), face(0), b"bob")


def with_part(template: Any, name: str, part: Any) -> Any:
    return type(template)(
        template.scheme, template.version, template.record, {**template.helper, name: part}
    )


def test_a_scheme_without_owners_stores_what_it_always_did() -> None:
    """Older templates and configurations stay as they were, byte for byte."""
    assert "owner" not in mrp().settings()
    assert b"owner" not in describe(l2fe())
    bare = dump.read(DATA / "older-bare.vault")
    person = next(p for p in bare.of(dump.PersonRow) if p.user == "ann")
    assert mrp().verify(unpack(person.template), face(0, 1))


# --- of a row -------------------------------------------------------------------------------


@pytest.mark.parametrize("pepper", [None, PEPPER])
@pytest.mark.parametrize("name", SCHEMES)
def test_swapped_rows_let_nobody_in(address: str, name: str, pepper: bytes | None) -> None:
    scheme = SCHEMES[name](hardening=Hardening(pepper=pepper))
    with closing(made(address, scheme, peppers=peppers if pepper else tuple)) as vault:
        vault.enrol("ann", face(0))
        vault.enrol("bob", face(1))
        assert vault.verify("ann", face(0, 1))
        swap(vault, "ann", "bob")
        for user in ("ann", "bob"):
            for person in (0, 1):
                assert not vault.verify(user, face(person, 1)), (user, person)
        swap(vault, "ann", "bob")
        assert vault.verify("ann", face(0, 1)), "put back it is as before"


def test_a_template_copied_to_another_name_lets_nobody_in(address: str) -> None:
    with closing(made(address, l2fe(hardening=peppered()), peppers=peppers)) as vault:
        vault.enrol("ann", face(0))
        run(vault, 'INSERT INTO vault_people SELECT \'eve\', configuration, template, enrolled '
                   "FROM vault_people")  # fmt: skip
        assert not vault.verify("eve", face(0))
        assert vault.verify("ann", face(0))


def test_a_row_that_was_moved_costs_a_try_against_nobody(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its answer would come sooner than that to a wrong face."""
    with closing(made(address, l2fe(hardening=peppered()), peppers=peppers)) as vault:
        vault.enrol("ann", face(0))
        vault.enrol("bob", face(1))
        swap(vault, "ann", "bob")
        current, tried = vault.configurations.current(), []
        plain = type(current.scheme).verify
        monkeypatch.setattr(
            type(current.scheme), "verify",
            lambda self, template, *rest: tried.append(template) or plain(self, template, *rest),
        )  # fmt: skip
        assert not vault.verify("ann", face(0))
        assert tried == [current.decoy]
        said = rows(vault, "SELECT outcome, \"user\" FROM vault_audit WHERE event = 'verify'")
        assert said == [("changed", "ann")], "who keeps the vault can read it there"


def test_a_row_cannot_go_back_to_a_laxer_configuration(address: str) -> None:
    """The threshold is no part of a template; the number of its configuration is."""
    lax, strict = (MRP_(threshold=t, hardening=peppered()) for t in (1.2, 0.3))
    with closing(made(address, lax, peppers=peppers)) as vault:
        vault.enrol("old", face(3))
        assert not vault.verify("old", -face(3))
        vault.configure(strict)
        vault.enrol("ann", face(0))
        near = nearer(face(0), face(1))
        assert not vault.verify("ann", near)
        run(vault, "UPDATE vault_people SET configuration = 1")
        assert not vault.verify("ann", near)
        assert not vault.verify("ann", face(0)), "nor the person: the row is not as it was"
        assert vault.verify("old", nearer(face(3), face(1))), "the laxer one is laxer"


def MRP_(**given: Any) -> Any:
    from efface.protect.template import MRP

    return MRP(n=24, **given).fit(PEOPLE_)


def nearer(one: Any, other: Any) -> Any:
    """A vector some 0.7 from the first."""
    mixed = np.asarray(one, float) + 0.8 * np.asarray(other, float)
    return mixed / np.linalg.norm(mixed)


# --- of a configuration ---------------------------------------------------------------------


def test_an_edited_configuration_is_refused(address: str) -> None:
    with closing(made(address, mrp(hardening=peppered()), peppers=peppers)) as vault:
        vault.enrol("ann", face(0))
        ((scheme,),) = rows(vault, "SELECT scheme FROM vault_configurations")
        laxer = bytes(scheme).replace(b'"threshold":0.7', b'"threshold":1.9')
        assert laxer != bytes(scheme)
        run(vault, "UPDATE vault_configurations SET scheme = :s", s=laxer)
    with closing(vault_at(address, peppers)) as again, pytest.raises(VaultError, match="changed"):
        again.verify("ann", face(1))


@pytest.mark.parametrize("mark", ["", "older", "other number"])
def test_an_inserted_configuration_is_refused(address: str, mark: str) -> None:
    """One without a pepper, one as older releases wrote it, one that was sealed as another."""
    with closing(made(address, mrp(hardening=peppered()), peppers=peppers)) as vault:
        vault.enrol("ann", face(0))
        ((own, scheme, decoy),) = rows(
            vault, "SELECT pepper, scheme, decoy FROM vault_configurations"
        )
        pepper = None if mark == "" else PEPPER
        forged = owned(MRP_(threshold=1.9, hardening=Hardening(pepper=pepper)))
        text_ = bytes(scheme) if mark == "other number" else describe(forged)
        column = {"": "", "older": tag(PEPPER), "other number": own}[mark]
        run(vault, "INSERT INTO vault_configurations VALUES (2, :s, :p, :d, 1.0)",
            s=text_, p=column, d=bytes(decoy))  # fmt: skip
    with closing(vault_at(address, peppers)) as again:
        with pytest.raises(VaultError, match=r"not sealed|changed"):
            again.verify("ann", face(0))
        with pytest.raises(VaultError, match=r"not sealed|changed"):
            again.configure(mrp(hardening=peppered()))


def test_a_vault_replaced_by_one_without_a_pepper_is_noticed(address: str) -> None:
    with closing(made(address, mrp())) as vault:
        vault.enrol("ann", face(5))
    with closing(vault_at(address, peppers)) as again, pytest.raises(VaultError, match="sealed"):
        again.verify("ann", face(5))


def test_a_seal_is_over_number_scheme_decoy_and_kind() -> None:
    row = Sealed(3, b"scheme", b"decoy")
    found = {row.by(PEPPER, takes=True)}
    for other in (
        Sealed(4, b"scheme", b"decoy"),
        Sealed(3, b"schemed", b"ecoy"),
        Sealed(3, b"scheme", b"decoys"),
    ):
        found.add(other.by(PEPPER, takes=True))
    found |= {row.by(PEPPER, takes=False), row.by(OTHER_PEPPER, takes=True)}
    assert len({mark.split(":", 2)[2] for mark in found}) == 6
    assert all(len(mark) <= 64 for mark in found), "the column has 64 characters"
    assert tag(PEPPER)[:24] not in row.by(PEPPER, takes=True), "no older row can be made of it"


# --- vaults of older releases ---------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bare", "peppered"])
def test_a_vault_of_an_older_release_goes_on_and_its_people_move(address: str, kind: str) -> None:
    given = (lambda: ()) if kind == "bare" else peppers
    scheme = mrp() if kind == "bare" else l2fe(hardening=peppered())
    with closing(vault_at(address, given)) as vault:
        dump.restore(vault.store, dump.read(DATA / f"older-{kind}.vault"))
        assert vault.verify("ann", face(0, 2))
        assert not vault.verify("ann", face(1))
        vault.configure(scheme)
        assert vault.waiting() == 2
        assert vault.verify("ann", face(0, 2))
        assert vault.waiting() == 1
        ((blob,),) = rows(vault, "SELECT template FROM vault_people WHERE \"user\" = 'ann'")
        assert "owner" in unpack(bytes(blob)).helper
        marks = [m for (m,) in rows(vault, "SELECT pepper FROM vault_configurations")]
        assert all(m.startswith("p:") for m in marks) == (kind == "peppered")
        assert vault.verify("bob", face(1, 2))
        swap(vault, "ann", "bob")
        assert not vault.verify("ann", face(1))


def test_the_first_pepper_seals_what_was_there_before(address: str) -> None:
    with closing(vault_at(address)) as vault:
        dump.restore(vault.store, dump.read(DATA / "older-bare.vault"))
    with closing(vault_at(address, peppers)) as vault:
        vault.configurations.adopt = True
        vault.configure(mrp(hardening=peppered()))
    with closing(vault_at(address, peppers)) as vault:
        marks = [m[:2] for (m,) in rows(vault, "SELECT pepper FROM vault_configurations")]
        assert sorted(marks) == ["n:", "p:"]
        assert vault.verify("ann", face(0, 1)), "by the older configuration, which is sealed now"
        assert vault.waiting() == 1
        assert vault.verify("ann", face(0, 1))


def test_what_was_dumped_is_still_what_is_enrolled_by_hand() -> None:
    """The fixtures hold what they say: templates that were not bound."""
    for kind in ("bare", "peppered"):
        found = dump.read(DATA / f"older-{kind}.vault")
        for person in found.of(dump.PersonRow):
            template = unpack(person.template)
            assert "owner" not in template.helper
            assert pack(template) == person.template
