# SPDX-License-Identifier: Apache-2.0
"""The NPU kernels without a card: torch_npu's headers, a recording fake of the runtime, the host model as the chip."""

import sys
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

import pytest
import scenarios
import toolbox
import torch

import chunk_gdr
from chunk_gdr import _C
from chunk_gdr.cases import SUITE, Case, chunk_state_like, make_inputs
from chunk_gdr.reference import Result
from chunk_gdr.runner import call_operator, compare_with_truth, plan_of

BASE = Case(lengths=(70, 0, 3), nk=1, nv=2, dk=48, dv=32)
EVERY_CALL = (
    "aclGetDeviceCapability",
    "aclrtKernelArgsInit",
    "aclrtKernelArgsAppend",
    "aclrtKernelArgsAppendPlaceHolder",
    "aclrtKernelArgsGetPlaceHolderBuffer",
    "aclrtKernelArgsFinalize",
    "aclrtLaunchKernelWithConfig",
)


@pytest.fixture
def call(device):
    return lambda inputs, **settings: device(scenarios.call, inputs, **settings)


def copies(outcome, direction):
    return [copy for copy in outcome.named("copy") if copy["direction"] == direction]


def with_rows_for_any_lengths(inputs):
    """Lengths on the device are not known to the host, which then asks for rows of chunk_state by their bound."""
    if inputs.chunk_state is not None:
        inputs.chunk_state = chunk_state_like(inputs, spare_rows=len(inputs.lengths))
    return inputs


def on_model(inputs):
    """The CPU backend that runs the same kernel: the bits to expect."""
    if inputs.chunk_state is not None:
        inputs = replace(inputs, chunk_state=inputs.chunk_state.clone())
    return call_operator(inputs, "model").result


def equal(outcome, result):
    assert outcome.error is None, outcome.error
    assert torch.equal(outcome.out, result.out) and torch.equal(outcome.final_state, result.final_state)
    if result.chunk_state is not None:
        assert torch.equal(outcome.chunk_state.nan_to_num(9.0), result.chunk_state.nan_to_num(9.0))


# --- results


@pytest.mark.parametrize("name", SUITE)
def test_the_whole_path_equals_the_oracle(call, name):
    """Tensors of the device in; preparation, plan, launch, the kernel's own entry; results of the device out."""
    x = with_rows_for_any_lengths(make_inputs(SUITE[name]))
    got = call(x, stream=7)
    assert got.error is None, got.error
    for comparison in compare_with_truth(x, Result(got.out, got.final_state, got.chunk_state), "saturate"):
        assert comparison.passed, comparison
    equal(got, on_model(x))
    assert len(got.named("launch")) == 1 and copies(got, "device_to_host") == []
    assert got.named("model") == [{"errors": "0", "auto_sync": "0"}] and not got.named("abandoned")


@pytest.mark.parametrize("namespace", ["chunk_gdr", "npu"])
def test_both_names(call, device, namespace):
    x = make_inputs(BASE)
    equal(call(x, namespace=namespace), on_model(x))
    assert device(scenarios.kernels_of, f"{namespace}::chunk_gated_delta_rule") == ["CPU", "Meta", "PrivateUse1"]


def test_the_npu_name_can_be_left_to_others(device_without_npu_name):
    x = make_inputs(BASE)
    equal(device_without_npu_name(scenarios.call, x, namespace="chunk_gdr"), on_model(x))
    assert not device_without_npu_name(scenarios.has_operator, "npu")


@pytest.mark.parametrize("kind", ["sliced", "unaligned"])
def test_strided_and_unaligned_tensors(device, kind):
    x = with_rows_for_any_lengths(make_inputs(replace(BASE, chunk_state=True)))
    names = ("query", "key", "value", "beta", "g", "initial_state", "chunk_state")
    equal(device(scenarios.call_with_layout, x, kind, names), on_model(x))


@pytest.mark.parametrize("dim", [48, 33])
def test_chunk_state_is_written_where_it_is(call, dim):
    x = make_inputs(replace(BASE, dk=dim))
    x.chunk_state = chunk_state_like(x, spare_rows=2)
    x.chunk_state[-2:] = 7.0
    got = call(x)
    equal(got, on_model(x))
    assert (got.chunk_state[-2:] == 7.0).all()
    recorded = [int(event["pointer"], 16) for event in got.named("record_stream")]
    # In place wherever the layout allows, through a padded copy elsewhere.
    assert (got.pointers["chunk_state"] in recorded) == (dim == 48)


def test_no_tokens_and_no_sequences(call):
    x = make_inputs(replace(BASE, lengths=(0, 0)))
    got = call(x)
    assert torch.equal(got.final_state, x.initial_state) and got.out.shape == (0, 2, 32)
    x = make_inputs(replace(BASE, lengths=(0,), state=None))
    x.actual_seq_lengths = torch.zeros(0, dtype=torch.int64)
    got = call(x)
    assert got.final_state.shape == (0, 2, 32, 48) and got.named("launch") == []


def test_the_command_runs_on_the_card(device):
    arguments = ["--lengths", "70,0,3", "--nk", "1", "--nv", "2", "--dk", "33", "--dv", "48", "--l2norm"]
    code, text, events = device(scenarios.command, ["run", "--backend", "npu", *arguments])
    assert code == 0 and "PASSED: every bar" in text and "npu" in text
    assert [name for name, _ in events].count("launch") == 1


# --- lengths


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("where", ["device", "cpu"])
def test_lengths_are_never_copied_to_the_host(call, dtype, where):
    x = make_inputs(BASE)
    x.actual_seq_lengths = x.actual_seq_lengths.to(dtype)
    got = call(x, on_cpu=("actual_seq_lengths",) if where == "cpu" else ())
    equal(got, on_model(x))
    assert copies(got, "device_to_host") == []
    assert len(copies(got, "host_to_device")) == (where == "cpu")


def test_bad_lengths_on_the_cpu_are_an_error_before_anything_happens(call):
    x = make_inputs(BASE)
    x.actual_seq_lengths = torch.tensor([70, 0, 4])
    got = call(x, on_cpu=("actual_seq_lengths",))
    assert "argument 'actual_seq_lengths': expected lengths with sum T=73" in got.error and got.events == []


def test_bad_lengths_on_the_device_give_nan(call):
    x = make_inputs(BASE)
    x.actual_seq_lengths = torch.tensor([70, 0, 4])
    got = call(x)
    assert got.error is None and got.out.isnan().all() and got.final_state.isnan().all()
    assert copies(got, "device_to_host") == [] and got.named("model")[0]["errors"] == "0"


def test_rows_of_chunk_state_by_their_bound(call):
    x = make_inputs(BASE)
    x.chunk_state = chunk_state_like(x)
    got = call(replace(x, chunk_state=x.chunk_state[:2]))
    assert "argument 'chunk_state': expected at least 4 rows (T / 64 + B), got 2 rows" in got.error and not got.events


# --- the launch


def test_order_arguments_and_sizes_of_the_launch(call):
    x = make_inputs(BASE)
    got = call(x, stream=3)
    plan = _C.plan(
        total_tokens=73, batch=3, key_heads=1, value_heads=2, key_dim=48, value_dim=32, has_beta=True, has_g=True,
        has_initial_state=True, has_lengths=True, scale=x.scale, gate_stride_elems=80 + 64,
    )  # fmt: skip
    names = [name for name, _ in got.events]
    assert names.index("drain_task_queue") > max(i for i, name in enumerate(names) if name in ("copy", "allocate"))
    assert names.index("drain_task_queue") < names.index("finalize") < names.index("launch")
    assert names.index("launch") < names.index("record_stream")

    (launch,) = got.named("launch")
    assert launch["kernel"] == "chunk_gated_delta_rule" and launch["stream"] == "3" and launch["arguments"] == "12"
    assert launch["blocks"] == str(plan["block_num"]) and launch["placeholder"] == launch["defaults"] == "1"
    key, tiling_bytes = bytes.fromhex(launch["tiling"])[:8], bytes.fromhex(launch["tiling"])[8:]
    assert int.from_bytes(key, "little") == plan["tiling_key"]
    assert tiling_bytes == plan["tiling"]

    sizes = [int(argument["bytes"]) for argument in got.named("argument")]
    halves, floats = 2, 4
    assert sizes[:3] == [73 * 48 * halves, 73 * 48 * halves, 73 * 2 * 32 * halves]
    assert sizes[3] == sizes[6] == 2 * (80 + 64) * floats  # beta and g: fp32 [Nv, T rounded up to 8, + 64]
    assert sizes[4] == sizes[9] == 3 * 2 * 32 * 48 * floats and sizes[5] == 3 * 8 and sizes[7] == 0
    assert sizes[8] == 73 * 2 * 32 * halves
    assert sizes[10] == plan["workspace_bytes"] > 2 * 1024 * 1024  # with the system part
    absent = [i for i, argument in enumerate(got.named("argument")) if argument["null"] == "1"]
    assert absent == [7]


def test_every_tensor_of_the_launch_is_recorded_on_its_stream(call):
    x = make_inputs(BASE)
    got = call(x, stream=5)
    recorded = got.named("record_stream")
    assert len(recorded) == 9 and {event["stream"] for event in recorded} == {"5"}
    pointers = {int(event["pointer"], 16) for event in recorded}
    assert {got.pointers[name] for name in ("query", "key", "value", "initial_state", "actual_seq_lengths")} <= pointers


def test_tensors_in_the_kernels_layout_are_not_copied(call):
    """Only g and beta, which the kernel wants head by head."""
    got = call(make_inputs(replace(BASE, gate="none", beta="none")))
    assert got.named("copy") == []
    assert len(call(make_inputs(BASE)).named("copy")) == 2


def test_fewer_cores_than_items(call):
    x = make_inputs(replace(BASE, lengths=(70, 64, 3)))
    got = call(x, cores=2)
    equal(got, on_model(x))
    assert got.named("launch")[0]["blocks"] == "2"
    assert call(x, cores=10).named("launch")[0]["blocks"] == str(len(plan_of(x).cores))


def test_the_binary_is_read_once(call, tmp_path):
    x = make_inputs(replace(BASE, lengths=(3,)))
    call(x)
    assert call(x).named("load") == []


# --- what can fail


@pytest.mark.parametrize("entry", EVERY_CALL)
def test_a_failure_is_one_error_and_nothing_is_written(call, entry):
    x = with_rows_for_any_lengths(make_inputs(replace(BASE, chunk_state=True)))
    x.chunk_state.fill_(7.0)
    got = call(x, fail=(entry, 507899))
    assert got.error == f"chunk_gated_delta_rule on npu:0: {entry} failed with code 507899: EZ9999: Inner Error!"
    assert got.out is None and (got.chunk_state == 7.0).all()
    assert len(got.named("launch")) == (entry == "aclrtLaunchKernelWithConfig")
    assert got.named("record_stream") == [] and got.named("model") == []
    assert call(x).error is None


def test_another_chip(call):
    got = call(make_inputs(BASE), soc="Ascend910B3")
    assert got.error == "chunk_gated_delta_rule on npu:0: expected a device Ascend310P*, got Ascend910B3"
    assert got.events == []


def test_a_private_format(call):
    got = call(make_inputs(BASE), format=29)
    assert "chunk_gated_delta_rule: argument 'query': expected a base format such as ND (2), got format 29" in got.error


def test_dtypes_of_the_chip(call):
    got = call(make_inputs(replace(BASE, dtype="bfloat16")))
    assert "argument 'query': expected dtype float16 (Ascend 310P), got bfloat16" in got.error and got.events == []


def test_the_host_cannot_read_the_device(libraries):
    """What makes the tests above see a kernel that takes a device pointer for a host one."""
    with toolbox.process_with_device(libraries) as run, pytest.raises(BrokenProcessPool):
        run(scenarios.dereference)


def test_there_is_no_backward(device):
    assert "derivative for npu::chunk_gated_delta_rule is not implemented" in device(scenarios.backward)


@pytest.mark.skipif("torch_npu" in sys.modules, reason="this machine has torch_npu")
def test_this_process_has_no_fake_device():
    assert torch._C._get_privateuse1_backend_name() == "privateuseone"
    assert scenarios.kernels_of(chunk_gdr.registration()[0].name) == ["CPU", "Meta"]
