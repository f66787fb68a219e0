# Warnings, sanitizers and tools, shared by every target of the project.
add_library(touchstone_options INTERFACE)
target_compile_options(touchstone_options INTERFACE -Wall -Wextra -Wpedantic -Werror)
# GCC 12 warns falsely of overlapping copies in std::string's operator+ (its bug 105329).
target_compile_options(touchstone_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
target_include_directories(touchstone_options INTERFACE ${PROJECT_SOURCE_DIR}/src)

if(TOUCHSTONE_SANITIZE)
  target_compile_options(touchstone_options INTERFACE -fsanitize=address,undefined -fno-omit-frame-pointer
                                                      -fno-sanitize-recover=undefined)
  target_link_options(touchstone_options INTERFACE -fsanitize=address,undefined)
endif()

if(TOUCHSTONE_FUZZ)
  # Warnings are the other build's business. ONNX's library and protobuf are not instrumented, and have no type
  # information to check calls against.
  target_compile_options(touchstone_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=vptr,function
                                                      -fno-sanitize-recover=undefined -fno-omit-frame-pointer -w)
  target_link_options(touchstone_options INTERFACE -fsanitize=address,undefined -fno-sanitize=vptr,function)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

# A unit-test executable of one room: touchstone_test(graph LIBRARIES touchstone_graph SOURCES a_test.cpp ...).
function(touchstone_test room)
  cmake_parse_arguments(ARG "" "" "LIBRARIES;SOURCES" ${ARGN})
  find_package(doctest REQUIRED)
  add_executable(${room}_tests ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/tests/doctest_main.cpp)
  target_link_libraries(${room}_tests PRIVATE touchstone_options doctest::doctest ${ARG_LIBRARIES})
  target_compile_definitions(${room}_tests PRIVATE TOUCHSTONE_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
                                                   TOUCHSTONE_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  add_test(NAME ${room} COMMAND ${room}_tests)
endfunction()
