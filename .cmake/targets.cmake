# The two functions every folder uses: a library and a test.

# Third-party headers are included as SYSTEM, so that our warnings judge our code alone.
add_library(syncline_options INTERFACE)
target_include_directories(syncline_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(
  syncline_options
  INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Werror
            # Designated initializers leave out what keeps its default.
            -Wno-missing-field-initializers
            $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
            # Results must be the same bits on every machine (no fused multiply-add).
            -ffp-contract=off)

# syncline_library(NAME common_hash SOURCES hash.cc DEPS syncline::x absl::y)
# Defines target NAME and the alias syncline::NAME. Headers stand beside their sources and need no
# listing. A library without SOURCES is an interface library (headers only).
function(syncline_library)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(${ARG_NAME} STATIC ${ARG_SOURCES})
    target_link_libraries(${ARG_NAME} PUBLIC syncline_options ${ARG_DEPS})
  else()
    add_library(${ARG_NAME} INTERFACE)
    target_link_libraries(${ARG_NAME} INTERFACE syncline_options ${ARG_DEPS})
  endif()
  add_library(syncline::${ARG_NAME} ALIAS ${ARG_NAME})
endfunction()

# syncline_test(NAME common_test SOURCES hash_test.cc DEPS syncline::common_hash LABELS no_grpc)
# One binary a folder, one CTest entry a binary. Labels: no_grpc (also run under TSan), slow (only
# in .ci/run), integration (starts real processes).
function(syncline_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "SOURCES;DEPS;LABELS;ARGS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(SYNCLINE_SANITIZER STREQUAL "thread" AND NOT "no_grpc" IN_LIST ARG_LABELS)
    return()
  endif()
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE syncline_options ${ARG_DEPS} GTest::gmock GTest::gtest
                                            GTest::gtest_main)
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME} ${ARG_ARGS})
  set_tests_properties(
    ${ARG_NAME}
    PROPERTIES LABELS "${ARG_LABELS}"
               TIMEOUT ${ARG_TIMEOUT}
               ENVIRONMENT "SYNCLINE_SOURCE_DIR=${CMAKE_SOURCE_DIR};${ARG_ENVIRONMENT}")
endfunction()
