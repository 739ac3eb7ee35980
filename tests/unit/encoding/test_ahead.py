"""Results fetched in advance: the same, in order, bounded, and over when the user is."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from efface.encoding.ahead import ahead


def test_the_same_results_in_the_same_order() -> None:
    with ahead(iter(range(50))) as results:
        assert list(results) == list(range(50))


def test_only_a_few_are_fetched_in_advance() -> None:
    fetched = []

    def source() -> Iterator[int]:
        for number in range(20):
            fetched.append(number)
            yield number

    with ahead(source()) as results:
        assert next(results) == 0
        time.sleep(0.2)
        assert len(fetched) <= 5


def test_an_error_is_raised_where_the_results_are_used() -> None:
    def source() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    with ahead(source()) as results:
        assert next(results) == 1
        with pytest.raises(ValueError, match="broken"):
            next(results)


def test_who_stops_early_leaves_no_thread_and_an_ended_source() -> None:
    ended = threading.Event()

    def source() -> Iterator[int]:
        try:
            yield from range(1000)
        finally:
            ended.set()

    before = threading.active_count()
    with ahead(source()) as results:
        next(results)
    assert ended.is_set()
    assert threading.active_count() == before
