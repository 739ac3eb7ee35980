"""Thrift's compact protocol, as much of it as Parquet's footers and page headers need.

A struct is a dict from field number to (type, value), so that fields of newer formats than this
code knows are kept when a footer is written again. What is hostile or cut short is a ValueError:
no length is believed before the bytes are there, and nesting is bounded.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

Struct = dict[int, tuple[int, Any]]
_DEEPEST = 32
_LONGEST_VARINT = 10


@dataclass
class Items:
    """A list or set, with the type of what is in it."""

    kind: int
    values: list[Any]


def get(fields: Struct, number: int, kind: int, default: Any = None) -> Any:
    """The value of a field, which must have this type; a list or set comes as a plain list."""
    if number not in fields:
        return default
    found, value = fields[number]
    if found != kind:
        raise ValueError(f"field {number} has type {found} where {kind} belongs")
    return value.values if isinstance(value, Items) else value


def whole(fields: Struct, number: int, default: int | None = None) -> int:
    """A number of whatever width, never negative; ``default`` None: it has to be there."""
    kind, value = fields.get(number, (I64, default))
    if kind not in (I16, I32, I64) or value is None or value < 0:
        raise ValueError(f"field {number} is no number that can be")
    return int(value)


class Reader:
    """Takes values from bytes, one after another; ``at`` is where the next one starts."""

    def __init__(self, data: bytes | memoryview, at: int = 0) -> None:
        self.data = data
        self.at = at

    def struct(self, depth: int = 0) -> Struct:
        fields: Struct = {}
        number = 0
        while head := self._byte():
            kind, step = head & 0x0F, head >> 4
            number = number + step if step else self._zigzag()
            if kind in (TRUE, FALSE):
                fields[number] = TRUE, kind == TRUE
            else:
                fields[number] = kind, self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
        if kind in (I16, I32, I64):
            return self._zigzag()
        if kind == BINARY:
            return self.take(self.varint())
        if kind in (LIST, SET):
            return self._items(depth)
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind == DOUBLE:
            return struct.unpack("<d", self.take(8))[0]
        if kind in (TRUE, FALSE, BYTE):
            return self._byte()
        if kind == MAP:
            return self._map(depth)
        raise ValueError(f"unknown type {kind}")

    def _items(self, depth: int) -> Items:
        head = self._byte()
        count = head >> 4
        if count == 15:
            count = self.varint()
        if count > len(self.data) - self.at:
            raise ValueError("a list is longer than the bytes it is in")
        kind = head & 0x0F
        return Items(kind, [self._value(kind, depth + 1) for _ in range(count)])

    def _map(self, depth: int) -> Any:
        count = self.varint()
        if count > len(self.data) - self.at:
            raise ValueError("a map is longer than the bytes it is in")
        kinds = self._byte() if count else 0
        pair = kinds >> 4, kinds & 0x0F
        return kinds, [[self._value(kind, depth + 1) for kind in pair] for _ in range(count)]

    def _byte(self) -> int:
        if self.at >= len(self.data):
            raise ValueError("cut short")
        self.at += 1
        return self.data[self.at - 1]

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise ValueError("cut short")
        self.at += count
        return bytes(self.data[self.at - count : self.at])

    def varint(self) -> int:
        value = 0
        for place in range(_LONGEST_VARINT):
            byte = self._byte()
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return value
        raise ValueError("a number has too many bytes")

    def _zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)


def packed(fields: Struct) -> bytes:
    """A struct as bytes, fields in the order of their numbers."""
    out = bytearray()
    last = 0
    for number, (kind, value) in sorted(fields.items()):
        code = kind if kind != TRUE else (TRUE if value else FALSE)
        step = number - last
        if 0 < step < 16:
            out.append(step << 4 | code)
        else:
            out.append(code)
            out += varint(_zigzagged(number))
        if kind != TRUE:
            out += _packed_value(kind, value)
        last = number
    out.append(0)
    return bytes(out)


def _packed_value(kind: int, value: Any) -> bytes:
    if kind in (I16, I32, I64):
        return varint(_zigzagged(value))
    if kind == BINARY:
        return varint(len(value)) + bytes(value)
    if kind in (LIST, SET):
        return _packed_items(value)
    if kind == STRUCT:
        return packed(value)
    if kind == DOUBLE:
        return struct.pack("<d", value)
    if kind == MAP:
        return _packed_map(*value)
    return bytes([value])


def _packed_items(items: Items) -> bytes:
    count = len(items.values)
    head = bytes([count << 4 | items.kind]) if count < 15 else bytes([0xF0 | items.kind])
    long = b"" if count < 15 else varint(count)
    return head + long + b"".join(_packed_value(items.kind, v) for v in items.values)


def _packed_map(kinds: int, pairs: list[list[Any]]) -> bytes:
    if not pairs:
        return b"\0"
    body = (
        _packed_value(kinds >> 4, key) + _packed_value(kinds & 0x0F, value) for key, value in pairs
    )
    return varint(len(pairs)) + bytes([kinds]) + b"".join(body)


def varint(value: int) -> bytes:
    """An unsigned number, seven bits to a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _zigzagged(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1
