"""The tables of a vault: all that it ever stores, and so all that a thief can take."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
)

NAME_LENGTH = 200

metadata = MetaData()

configurations = Table(
    "vault_configurations",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("scheme", LargeBinary, nullable=False),
    Column("pepper", String(64), nullable=False),
    Column("decoy", LargeBinary, nullable=False),
    Column("made", Float(53), nullable=False),
)
"""``scheme`` is the text of the fitted scheme, ``pepper`` a tag that tells which pepper it takes,
``decoy`` the template of nobody that is tried for users who are not enrolled."""

people = Table(
    "vault_people",
    metadata,
    Column("user", String(NAME_LENGTH), primary_key=True),
    Column("configuration", ForeignKey(configurations.c.number), nullable=False),
    Column("template", LargeBinary, nullable=False),
    Column("enrolled", Float(53), nullable=False),
)

attempts = Table(
    "vault_attempts",
    metadata,
    Column("kind", String(8), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("level", Float(53), nullable=False),
    Column("last", Float(53), nullable=False, index=True),
)
"""Failed tries that are not forgotten yet; ``name`` is a digest, for it may be anybody's typo."""

audit = Table(
    "vault_audit",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("at", Float(53), nullable=False),
    Column("event", String(16), nullable=False),
    Column("outcome", String(16), nullable=False),
    Column("user", String(NAME_LENGTH), nullable=False),
    Column("source", String(NAME_LENGTH), nullable=False),
)
"""What happened. ``user`` is empty for a name that is not enrolled: it may be a password."""
