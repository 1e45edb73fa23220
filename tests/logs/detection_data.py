"""Writes the inputs of the detection corpus: Parquet files of orders, customers and products."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ORDERS, CUSTOMERS, PRODUCTS, CATEGORIES = 300_000, 5_000, 2_000, 20
FILES = 8
NOTE_BYTES = 16
SEGMENTS = np.array(["home", "office", "trade"])


@dataclass(frozen=True)
class Shape:
    """The properties of a run's inputs.

    Attributes:
        size: number of orders divided by that of a usual day.
        day: date of 90 % of the orders.
        heavy: share of the orders that belong to one customer.
        copies: number of rows of each product; above 1, the product key has duplicates.
    """

    size: float = 1.0
    day: str = "2024-05-01"
    heavy: float = 0.0
    copies: int = 1

    @property
    def name(self) -> str:
        """Return the name of the folder with inputs of this shape."""
        return f"{self.day}-size{self.size}-heavy{self.heavy}-copies{self.copies}"


def make(shape: Shape, into: Path) -> Path:
    """Write the inputs unless they exist, and return their folder."""
    folder = into / shape.name
    if not folder.exists():
        unfinished = folder.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        _orders(shape, unfinished / "orders")
        _customers(unfinished / "customers")
        _products(shape, unfinished / "products")
        unfinished.rename(folder)
    return folder


def feed(size: float, into: Path) -> Path:
    """Write only notes, ``size`` times as many as a usual day has, and return their folder."""
    folder = into / f"feed-{size}"
    if not folder.exists():
        for number in range(round(FILES * size)):
            _write({"note": _notes(np.random.default_rng(number), ORDERS // FILES)}, folder, number)
    return folder


def linked(source: Path, target: Path) -> Path:
    """Link the files into another folder and return this folder, so that a run can delete its own files."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, copy_function=os.link)
    return target


def forget(folder: Path) -> None:
    """Ask the operating system to remove these files from its page cache."""
    for path in folder.rglob("*.parquet"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _orders(shape: Shape, folder: Path) -> None:
    files = round(FILES * shape.size)
    each = round(ORDERS * shape.size) // files
    for number in range(files):
        chance = np.random.default_rng(number)
        customers = chance.integers(0, CUSTOMERS, each)
        customers[chance.random(each) < shape.heavy] = 7
        days = np.where(chance.random(each) < 0.9, shape.day, "2024-04-30")
        columns = {
            "order_id": np.arange(each) + number * each,
            "customer_id": customers,
            "product_id": chance.integers(0, PRODUCTS, each),
            "quantity": chance.integers(0, 10, each),
            "price": chance.random(each) * 100,
            "day": days,
            "note": _notes(chance, each),
        }
        _write(columns, folder, number)


def _customers(folder: Path) -> None:
    chance = np.random.default_rng(1)
    segments = SEGMENTS[chance.integers(0, len(SEGMENTS), CUSTOMERS)]
    _write({"customer_id": np.arange(CUSTOMERS), "segment": segments, "rate": chance.random(CUSTOMERS)}, folder, 0)


def _products(shape: Shape, folder: Path) -> None:
    products = np.repeat(np.arange(PRODUCTS), shape.copies)
    _write({"product_id": products, "category": products % CATEGORIES}, folder, 0)


def _notes(chance: np.random.Generator, count: int) -> pa.Array:
    """Return strings of 32 random hex digits, which compress poorly."""
    text = chance.bytes(count * NOTE_BYTES).hex().encode()
    offsets = np.arange(count + 1, dtype=np.int32) * (2 * NOTE_BYTES)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets.tobytes()), pa.py_buffer(text))


def _write(columns: dict[str, object], folder: Path, number: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / f"part-{number:05d}.parquet")
