# SPDX-License-Identifier: Apache-2.0
"""One thread for torch: the tensors of the tests are small, and waiting for a second thread costs many times what it
gives where other work shares the machine. Tests of threading set their own number; the host model has threads of its own.
"""

import torch

torch.set_num_threads(1)
