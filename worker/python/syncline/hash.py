"""The stable hash: decides in which slot a row lives. Twin of common/hash.h.

All arithmetic is modulo 2**64. tests/golden/hash_vectors.json holds vectors that every language's
twin must meet.
"""

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def mix64(x: int) -> int:
    """The finalizer of SplitMix64: a bijection of 64-bit numbers."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def stable_hash(table: int, key: int) -> int:
    """Hash of a row's name. `key` may be any integer from 0 to 2**64 - 1."""
    if not 0 <= key <= _MASK:
        raise ValueError(f"key {key} is not a 64-bit unsigned number")
    if not 0 <= table < 1 << 32:
        raise ValueError(f"table {table} is not a 32-bit unsigned number")
    return mix64(mix64((table + _GOLDEN) & _MASK) ^ key)


def stable_hash_name(name: str) -> int:
    """Hash of a name: FNV-1a (64 bits) over its UTF-8 bytes, then mix64."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & _MASK
    return mix64(h)


def slot_of(table: int, key: int, slot_count: int) -> int:
    """Where a row lives. `slot_count` is that of the cluster map, a power of two."""
    if slot_count <= 0 or slot_count & (slot_count - 1):
        raise ValueError(f"slot_count {slot_count} is not a power of two")
    return stable_hash(table, key) & (slot_count - 1)
