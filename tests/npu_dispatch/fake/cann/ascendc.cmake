# SPDX-License-Identifier: Apache-2.0
# In place of CANN's: the "device binary" says what it was made of.
function(ascendc_fatbin_library target source)
  set(binary ${CMAKE_INSTALL_PREFIX}/fatbin/${target}/${target}.o)
  file(WRITE ${CMAKE_BINARY_DIR}/${target}.txt "${source} ${SOC_VERSION} ${ASCEND_CANN_PACKAGE_PATH}\n")
  add_custom_command(OUTPUT ${binary} COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_BINARY_DIR}/${target}.txt ${binary})
  add_custom_target(${target} ALL DEPENDS ${binary})
endfunction()

function(ascendc_compile_definitions target scope)
  file(APPEND ${CMAKE_BINARY_DIR}/${target}.txt "definitions ${ARGN}\n")
endfunction()

function(ascendc_compile_options target scope)
  file(APPEND ${CMAKE_BINARY_DIR}/${target}.txt "options ${ARGN}\n")
endfunction()
