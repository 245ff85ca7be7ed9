"""The stable hash in Python against the vectors that C++ meets too."""

import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "worker" / "python"))

from syncline import hash as stable  # noqa: E402

VECTORS = json.loads((ROOT / "tests" / "golden" / "hash_vectors.json").read_text())


def test_rows_hash_as_the_vectors_say():
    assert VECTORS["rows"]
    for row in VECTORS["rows"]:
        key = int(row["key"])
        assert stable.stable_hash(row["table"], key) == int(row["hash"])
        assert stable.slot_of(row["table"], key, 256) == row["slot_256"]


def test_names_hash_as_the_vectors_say():
    assert VECTORS["names"]
    for name in VECTORS["names"]:
        assert stable.stable_hash_name(name["name"]) == int(name["hash"])


def test_neighbours_of_powers_of_two_are_distinct_rows():
    keys = [0, 2**24 - 1, 2**24, 2**24 + 1, 2**53 - 1, 2**53, 2**53 + 1, 2**63, 2**64 - 1]
    assert len({stable.stable_hash(1, key) for key in keys}) == len(keys)


@pytest.mark.parametrize("slot_count", [0, -1, 3, 257])
def test_slot_counts_that_are_no_power_of_two_are_refused(slot_count):
    with pytest.raises(ValueError, match="power of two"):
        stable.slot_of(1, 1, slot_count)


@pytest.mark.parametrize("key", [-1, 2**64])
def test_keys_beyond_64_bits_are_refused(key):
    with pytest.raises(ValueError, match="64-bit"):
        stable.stable_hash(1, key)
