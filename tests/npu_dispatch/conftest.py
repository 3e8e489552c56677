# SPDX-License-Identifier: Apache-2.0
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # a spawned process looks for the scenarios there

import toolbox  # noqa: E402


@pytest.fixture(scope="session")
def headers():
    try:
        return toolbox.torch_npu_headers()
    except toolbox.NoHeaders as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def libraries(headers, tmp_path_factory):
    return toolbox.build(headers, tmp_path_factory.mktemp("npu"))


@pytest.fixture(scope="session")
def device(libraries):
    with toolbox.process_with_device(libraries) as run:
        yield run


@pytest.fixture
def device_without_npu_name(libraries, monkeypatch):
    monkeypatch.setenv("CHUNK_GDR_REGISTER_NPU", "0")
    with toolbox.process_with_device(libraries) as run:
        yield run
