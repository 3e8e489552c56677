// SPDX-License-Identifier: Apache-2.0
#ifndef CHUNK_GDR_CSRC_ENVIRONMENT_H_
#define CHUNK_GDR_CSRC_ENVIRONMENT_H_

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace chunk_gdr {

// Gives what an environment variable says to `take`, nothing if it is unset or empty; an argument that `take` refuses is that variable's.
template <typename Take>
void TakeFromEnvironment(const char* variable, Take take) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return;
  try {
    take(std::string(value));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string("environment variable ") + variable + ": " + error.what());
  }
}

}  // namespace chunk_gdr

#endif  // CHUNK_GDR_CSRC_ENVIRONMENT_H_
