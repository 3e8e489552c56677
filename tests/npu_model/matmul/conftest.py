# SPDX-License-Identifier: Apache-2.0
"""Cases of the high-level Matmul: tiling bytes, layouts, one kernel entry per combination of types, numpy's product."""

import struct
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from chunk_gdr import model

KERNELS = Path(__file__).parent / "kernels"
FIELDS = (
    "usedCoreNum M N Ka Kb singleCoreM singleCoreN singleCoreK baseM baseN baseK depthA1 depthB1 stepM stepN isBias "
    "transLength iterateOrder shareMode shareL1Size shareL0CSize shareUbSize batchM batchN singleBatchM singleBatchN "
    "stepKa stepKb depthAL1CacheUB depthBL1CacheUB dbL0A dbL0B dbL0C"
).split()
FIELD_COUNT = 50
BEHIND = 32  # elements
C_TYPES = {"half": np.float16, "float": np.float32, "int8_t": np.int8, "int32_t": np.int32}


def up(value, unit):
    return -(-value // unit) * unit


def cube_tiling(m, n, k, base=(32, 32, 32), **changes):
    """The bytes of a TCubeTiling whose core computes all of [m, n]; L1 holds two base blocks of each operand."""
    values = dict.fromkeys(FIELDS, 0) | {
        "usedCoreNum": 1, "M": m, "N": n, "Ka": k, "Kb": k, "singleCoreM": m, "singleCoreN": n, "singleCoreK": k,
        "baseM": base[0], "baseN": base[1], "baseK": base[2], "depthA1": 2, "depthB1": 2, "stepM": 1, "stepN": 1,
        "stepKa": 1, "stepKb": 1, "transLength": 32, "dbL0A": 2, "dbL0B": 2, "dbL0C": 1,
    }  # fmt: skip
    unknown = set(changes) - set(values)
    assert not unknown, unknown
    values |= changes
    return struct.pack(f"<{FIELD_COUNT}i", *values.values(), *[0] * (FIELD_COUNT - len(FIELDS)))


def to_nz(matrix, c0):
    """[rows, columns] -> [columns / c0, rows up to 16, c0], padded with zeros."""
    rows, columns = matrix.shape
    padded = np.zeros((up(rows, 16), up(columns, c0)), matrix.dtype)
    padded[:rows, :columns] = matrix
    return np.ascontiguousarray(padded.reshape(padded.shape[0], -1, c0).transpose(1, 0, 2))


def from_nz(strips, rows, columns):
    return strips.transpose(1, 0, 2).reshape(strips.shape[1], -1)[:rows, :columns]


@dataclass(frozen=True)
class Kind:
    """The types of a Matmul object; operands are (position, format, transposed)."""

    a: tuple = ("GM", "ND", False)
    b: tuple = ("GM", "ND", False)
    c: tuple = ("GM", "ND", "float")  # position, format, type
    operand: str = "half"
    bias: str = "GM"
    config: str = "CFG_NORM"

    def entry(self, name):
        def operand(position, layout, transposed):
            place = f"AscendC::TPosition::{position}, CubeFormat::{layout}"
            return f"MatmulType<{place}, {self.operand}, {str(transposed).lower()}>"

        wide = "int32_t" if self.operand == "int8_t" else "float"
        types = {
            "A": operand(*self.a),
            "B": operand(*self.b),
            "C": "MatmulType<AscendC::TPosition::{}, CubeFormat::{}, {}>".format(*self.c),
            "Bias": f"MatmulType<AscendC::TPosition::{self.bias}, CubeFormat::ND, {wide}>",
        }
        aliases = "".join(f"using {name}_{key} = {value};\n" for key, value in types.items())
        return f"{aliases}PRODUCT({name}, {', '.join(f'{name}_{key}' for key in types)}, ({self.config}))\n"

    @property
    def c0(self):
        return 32 if self.operand == "int8_t" else 16

    @property
    def strip(self):
        return 32 if self.c[2] == "int8_t" else 16


def build_products(kinds, folder):
    """One library with an entry per kind: {name: Kind}."""
    source = folder / "products.cpp"
    source.write_text('#include "product.h"\n' + "".join(kind.entry(name) for name, kind in kinds.items()))
    return model.build(source, include=[KERNELS], flags=["-Wall", "-Wextra", "-Werror"])


@dataclass(frozen=True)
class Case:
    kind: Kind = field(default_factory=Kind)
    m: int = 48
    n: int = 64
    k: int = 96
    bias: bool = False
    workspace: int = 64 * 1024
    iterate: bool = False
    sequential: bool = False
    atomic: int = 0
    quant: int = 0
    tail: tuple = (-1, -1, -1)
    synchronised: bool = True
    ended: bool = True
    tiling: dict = field(default_factory=dict)


def operands(case, data_seed=0):
    rng = np.random.default_rng(data_seed)
    integer = case.kind.operand == "int8_t"

    def matrix(rows, columns):
        if integer:
            return rng.integers(-128, 128, (rows, columns)).astype(np.int8)
        return rng.standard_normal((rows, columns)).astype(np.float16)

    bias = rng.standard_normal(case.n).astype(np.float32) * 4
    return matrix(case.m, case.k), matrix(case.k, case.n), bias.astype(np.int32) if integer else bias


def exact(case, a, b, bias):
    out = a.astype(np.float64) @ b.astype(np.float64)
    return out + bias if case.bias else out


def stored(matrix, kind, operand):
    """What GM holds of an operand: its layout, and some elements behind it, because loads are whole blocks."""
    _, layout, transposed = operand
    matrix = matrix.T if transposed else matrix
    flat = to_nz(matrix, kind.c0).ravel() if layout == "NZ" else np.ascontiguousarray(matrix).ravel()
    return np.concatenate([flat, np.zeros(BEHIND, flat.dtype)])


def result_shape(case):
    """Shape of C's buffer as [rows, columns] or NZ strips."""
    kind = case.kind
    if kind.c[1] == "NZ":
        return (up(case.n, kind.strip) // kind.strip, up(case.m, 16), kind.strip)
    return (case.m, up(case.n, kind.strip) if kind.c[1] == "ND_ALIGN" else case.n)


def launch(lib, entry, case, data_seed=0, c=None, scales=None, quant_word=0, **options):
    """Runs the case: (report, C as [m, n], exact product)."""
    kind = case.kind
    a, b, bias = operands(case, data_seed)
    dtype = C_TYPES[kind.c[2]]
    if c is None:
        c = np.full(result_shape(case), np.nan if np.issubdtype(dtype, np.floating) else -77, dtype)
    arrays = {
        "a": stored(a, kind, kind.a), "b": stored(b, kind, kind.b),
        "bias": np.concatenate([bias, np.zeros(-len(bias) % 16, bias.dtype)]),
        "scales": np.zeros(up(case.n, 16), np.uint64) if scales is None else scales, "c": c,
    }  # fmt: skip
    tiling = cube_tiling(case.m, case.n, case.k, **({"isBias": int(case.bias)} | case.tiling))
    tiling += struct.pack(
        "<14iQ", case.workspace, case.iterate, case.sequential, case.atomic, case.quant, *case.tail,
        arrays["a"].size - BEHIND, arrays["b"].size - BEHIND, c.size, arrays["bias"].size, case.synchronised,
        case.ended, quant_word,
    )  # fmt: skip
    report = model.run(lib, entry, arrays, tiling=tiling, **options)
    got = from_nz(c, case.m, case.n) if kind.c[1] == "NZ" else c[:, : case.n]
    return report, got, exact(case, a, b, bias)


def assert_clean(report):
    """Ran to its end, without a report of any grade."""
    assert report.error == "", report.error
    assert report.errors == report.auto_sync == 0 and not report.hazards, report.text


def assert_right(case, got, expected):
    if case.kind.c[2] == "int32_t":
        np.testing.assert_array_equal(got, expected.astype(np.int64))
        return
    # Products are exact and sums fp32: what is left is the order of the sum and one rounding of the result.
    tolerance = 2.0**-11 if case.kind.c[2] == "half" else 1e-5
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=tolerance, atol=1e-5 * np.abs(expected).max())


@pytest.fixture(scope="session")
def mm():
    return SimpleNamespace(
        Kind=Kind, Case=Case, KERNELS=KERNELS, cube_tiling=cube_tiling, build_products=build_products, launch=launch,
        assert_clean=assert_clean, assert_right=assert_right, operands=operands,
    )  # fmt: skip
