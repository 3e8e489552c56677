# SPDX-License-Identifier: Apache-2.0
# In place of CANN's: each function of an operator project notes its arguments.
set(ASCEND_AUTOGEN_PATH ${CMAKE_BINARY_DIR}/autogen)
file(WRITE ${CMAKE_BINARY_DIR}/calls.txt "")
foreach(name npu_op_package npu_op_code_gen npu_op_library npu_op_kernel_sources npu_op_kernel_library
             npu_op_package_add)
  cmake_language(EVAL CODE "
    function(${name})
      file(APPEND ${CMAKE_BINARY_DIR}/calls.txt \"${name} \${ARGN}\\n\")
    endfunction()")
endforeach()
add_custom_target(binary)
add_custom_target(package COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/custom_opp.run)
