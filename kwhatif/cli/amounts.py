"""Amounts of memory in words."""

from __future__ import annotations


def mebibytes(count: int) -> str:
    """As files are measured."""
    return f"{count / 2**20:,.0f} MiB" if count >= 10 * 2**20 else f"{count / 2**20:.1f} MiB"
