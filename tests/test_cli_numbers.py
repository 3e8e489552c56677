# SPDX-License-Identifier: Apache-2.0
"""Every number on the command line: what it may be is told before anything runs, and what is taken is what runs."""

import pytest

SMALL = ["--lengths", "5", "--nk", "1", "--nv", "1", "--dk", "16", "--dv", "16"]
NOT_WHOLE = ("nan", "inf", "-1", "1.5", "x", "1e3")
NOT_FINITE = ("nan", "-nan", "inf", "1e39", "x")

WHOLE_FROM_0 = "a whole number from 0 to 2147483647"
WHOLE_FROM_1 = "a whole number from 1 to 2147483647"
SEED = "a whole number from 0 to 18446744073709551615"
HEAD_DIM = "a whole number from 1 to 128"
LENGTHS = "whole numbers, N,N,..., that add up to 2147483647 at most"
CYCLES = "a finite number of cycles from 0"
SCHEDULES = (
    "auto, sequence-major, v-tiles, chunk-parallel or, with the rounds between two meetings, chunk-parallel:N, "
    "N one of 2, 4, 6, 8, 16"
)
NO_SCHEDULES = ("fast", "", "chunk-parallel:3", "chunk-parallel:99", "chunk-parallel:", "v-tiles:2", "auto:4")
CHUNK_SIZES = "auto, 1, 2, 4, 8, 16, 32, 64"

# command, flag -> what it expects, what it does not take
FLAGS = {
    ("run", "--lengths"): (LENGTHS, ("3,x", "3,-1", "", "3,", "nan", "inf", "2147483648", "2147483647,1")),
    ("run", "--nk"): (WHOLE_FROM_1, (*NOT_WHOLE, "0", "2147483648")),
    ("run", "--nv"): (WHOLE_FROM_1, (*NOT_WHOLE, "0", "2147483648")),
    ("run", "--dk"): (HEAD_DIM, (*NOT_WHOLE, "0", "129")),
    ("plan", "--dv"): (HEAD_DIM, (*NOT_WHOLE, "0", "129")),
    ("run", "--gate"): ("a number below inf, or one of none, qwen, zero, ", ("nan", "-nan", "inf", "1e39", "warm")),
    ("run", "--key-norm"): ("a finite float32", (*NOT_FINITE, "-inf", "-1e39")),
    ("run", "--query-norm"): ("a finite float32", (*NOT_FINITE, "-inf", "-1e39")),
    ("run", "--beta"): ("a finite number, or one of none, random, 0.99, one", (*NOT_FINITE, "-inf")),
    ("run", "--v-size"): ("a number from 0 to 24.8", (*NOT_FINITE, "-inf", "-1", "25")),
    ("run", "--state-size"): ("a finite float32 from 0", (*NOT_FINITE, "-inf", "-0.1")),
    ("run", "--seed"): (SEED, (*NOT_WHOLE, str(2**64))),
    ("plan", "--scale"): ("a finite float32 or 'none'", (*NOT_FINITE, "-inf", "default")),
    ("run", "--adversarial"): (SEED, (*NOT_WHOLE, str(2**64))),
    ("run", "--cores"): ("a whole number from 1 to 8", (*NOT_WHOLE, "0", "9")),
    ("run", "--schedule"): (SCHEDULES, NO_SCHEDULES),
    ("run", "--chunk-size"): (CHUNK_SIZES, ("0", "3", "64.0", "128", "-1", "all")),
    ("plan", "--schedule"): (SCHEDULES, NO_SCHEDULES),
    ("plan", "--chunk-size"): (CHUNK_SIZES, ("0", "3", "64.0", "128", "-1", "all")),
    ("check", "--schedule"): (SCHEDULES, NO_SCHEDULES),
    ("check", "--chunk-size"): (CHUNK_SIZES, ("0", "3", "64.0", "128", "-1", "all")),
    ("profile", "--schedule"): (SCHEDULES, NO_SCHEDULES),
    ("profile", "--chunk-size"): (CHUNK_SIZES, ("0", "3", "64.0", "128", "-1", "all")),
    ("bench", "--schedule"): (SCHEDULES, NO_SCHEDULES),
    ("bench", "--chunk-size"): (CHUNK_SIZES, ("0", "3", "64.0", "128", "-1", "all")),
    ("check", "--threads"): (WHOLE_FROM_1, (*NOT_WHOLE, "0", "2147483648")),
    ("run", "--top"): (WHOLE_FROM_0, (*NOT_WHOLE, "2147483648")),
    ("check", "--seeds"): (WHOLE_FROM_0, (*NOT_WHOLE, "2147483648")),
    ("bench", "--threads"): (WHOLE_FROM_1, (*NOT_WHOLE, "0")),
    ("profile", "--core"): ("a whole number from 0 to 7", (*NOT_WHOLE, "8")),
    ("profile", "--from"): (CYCLES, ("nan", "inf", "-inf", "-1", "x")),
    ("profile", "--to"): (CYCLES, ("nan", "inf", "-inf", "-1", "x")),
}


@pytest.mark.parametrize("name, flag", FLAGS, ids=" ".join)
def test_what_a_number_may_be(command, name, flag):
    expected, refused = FLAGS[name, flag]
    for text in refused:
        code, out, err = command(name, flag, text)
        assert code == 2 and out == "" and len(err.splitlines()) == 1, text
        assert f"error: argument {flag}: expected {expected}" in err and err.endswith(f", got '{text}'\n")


def test_every_number_is_in_the_table():
    """By its type: a flag that takes any float or int would be one without limits."""
    from chunk_gdr import cli

    (commands,) = (action for action in cli.build_parser()._actions if action.choices)
    flags = {flag for _, flag in FLAGS}
    typed = set()
    for parser in commands.choices.values():
        for action in parser._actions:
            assert action.type not in (int, float)
            typed |= {action.option_strings[0]} if action.type is not None else set()
    assert typed == flags


@pytest.mark.parametrize(
    "flags",
    [
        ("--gate", "-inf"),
        ("--gate", "-1e39"),
        ("--key-norm", "0"),
        ("--beta", "0"),
        ("--v-size", "0"),
        ("--v-size", "24.8"),
        ("--state-size", "0"),
        ("--scale", "none"),
        ("--scale", "3.4028234663852886e38", "--v-size", "0", "--state", "none"),
        ("--seed", str(2**64 - 1)),
        ("--adversarial", str(2**64 - 1)),
        ("--top", "0"),
        ("--lengths", "0,0"),
    ],
    ids=" ".join,
)
def test_limits_are_taken(command, flags):
    code, out, _ = command("run", *SMALL, *flags)
    assert code == 0 and "PASSED: every bar" in out
