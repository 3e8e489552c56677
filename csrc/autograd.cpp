// SPDX-License-Identifier: Apache-2.0
// torch's own fallbacks for this look only at arguments that are also returned; ours are written and not returned.
#include "autograd.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/csrc/autograd/functions/basic_ops.h>

#include <string>
#include <vector>

namespace chunk_gdr {
namespace {

using torch::autograd::Node;
using torch::autograd::NotImplemented;
using torch::jit::Stack;

std::vector<at::Tensor> Tensors(const Stack& stack, size_t count) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : torch::jit::last(stack, count)) {
    if (value.isTensor()) tensors.push_back(value.toTensor());
  }
  return tensors;
}

std::vector<at::Tensor> WrittenArguments(const c10::FunctionSchema& schema, const Stack& stack) {
  std::vector<at::Tensor> written;
  const size_t count = schema.arguments().size();
  for (size_t i = 0; i < count; ++i) {
    const c10::AliasInfo* alias = schema.arguments()[i].alias_info();
    const c10::IValue& value = torch::jit::peek(stack, i, count);
    if (alias != nullptr && alias->isWrite() && value.isTensor()) written.push_back(value.toTensor());
  }
  return written;
}

void RefuseBackwardKernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const std::vector<at::Tensor> inputs = Tensors(*stack, op.schema().arguments().size());
  for (const at::Tensor& tensor : inputs) {
    // The kernels below would drop the tangent, which reads as a derivative of zero.
    TORCH_CHECK_NOT_IMPLEMENTED(!torch::autograd::isFwGradDefined(tensor), "forward-mode derivative of ",
                                op.schema().name(), " is not implemented");
  }
  const std::vector<at::Tensor> written = WrittenArguments(op.schema(), *stack);
  const bool requires_grad = torch::autograd::compute_requires_grad(inputs);
  for (const at::Tensor& tensor : written) torch::autograd::check_inplace(tensor, requires_grad);
  c10::intrusive_ptr<Node> node;
  if (requires_grad) {
    node = c10::make_intrusive<NotImplemented>(op.schema().name());
    node->set_next_edges(torch::autograd::collect_next_edges(inputs));
  }
  {
    const at::AutoDispatchBelowAutograd below;
    op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
  }
  if (requires_grad) {
    for (const at::Tensor& output : Tensors(*stack, op.schema().returns().size()))
      torch::autograd::set_history(output, node);
    torch::autograd::rebase_history(written, node);
  }
}

void CountWritesKernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const std::vector<at::Tensor> written = WrittenArguments(op.schema(), *stack);
  {
    const at::AutoDispatchBelowADInplaceOrView below;
    op.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
  }
  for (const at::Tensor& tensor : written) torch::autograd::increment_version(tensor);
}

}  // namespace

torch::CppFunction RefuseBackward() { return torch::CppFunction::makeFromBoxedFunction<&RefuseBackwardKernel>(); }

torch::CppFunction CountWrites() { return torch::CppFunction::makeFromBoxedFunction<&CountWritesKernel>(); }

}  // namespace chunk_gdr
