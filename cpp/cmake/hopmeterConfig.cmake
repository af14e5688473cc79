# The CMake package for C++ adapters, in a checkout or an installed package. In both, the headers are next to cmake/. The
# instrument's static library is at the path HOPMETER_LIBRARY, next to the headers, or in Cargo's build folder.
#
#   find_package(hopmeter REQUIRED)
#   hopmeter_add_node(zeromq zeromq.cpp)        # builds hopmeter-node-zeromq-cpp

get_filename_component(_hopmeter_root "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)

find_library(HOPMETER_LIBRARY NAMES libhopmeter.a NO_DEFAULT_PATH DOC "The instrument's static library"
  PATHS "${_hopmeter_root}/lib" "$ENV{CARGO_TARGET_DIR}/release" "${_hopmeter_root}/../target/release")
if(NOT HOPMETER_LIBRARY)
  message(FATAL_ERROR "libhopmeter.a was not found: run `cargo build --release -p hopmeter-c` in the checkout, or set "
    "-DHOPMETER_LIBRARY=FILE")
endif()

if(NOT TARGET hopmeter::hopmeter)
  find_package(Threads REQUIRED)
  add_library(hopmeter::hopmeter STATIC IMPORTED)
  set_target_properties(hopmeter::hopmeter PROPERTIES
    IMPORTED_LOCATION "${HOPMETER_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${_hopmeter_root}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
endif()

# Adds the executable of a transport's C++ adapter. The node is always optimised, whatever the caller's build type, because
# an unoptimised node would give wrong results.
function(hopmeter_add_node NAME)
  set(node "hopmeter-node-${NAME}-cpp")
  add_executable(${node} ${ARGN})
  target_link_libraries(${node} PRIVATE hopmeter::hopmeter)
  set_target_properties(${node} PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  target_compile_options(${node} PRIVATE -O3 -Wall -Wextra)

  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  string(JOIN " " flags ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}} -O3 -std=c++20)
  target_compile_definitions(${node} PRIVATE
    "HOPMETER_TRANSPORT=\"${NAME}\""
    "HOPMETER_COMPILER=\"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_SYSTEM_PROCESSOR}\""
    "HOPMETER_FLAGS=\"${flags}\"")
endfunction()

# Reports that a dependency of an adapter is missing. A build of this adapter alone stops with the message; a build of all
# adapters skips this adapter. This is a macro so that it returns from its caller.
macro(hopmeter_lacks WHAT)
  if(PROJECT_IS_TOP_LEVEL)
    message(FATAL_ERROR "${WHAT}")
  endif()
  message(STATUS "${PROJECT_NAME} is left out, for ${WHAT}")
  return()
endmacro()

# Finds a library with pkg-config, and provides it as PkgConfig::NAME.
macro(hopmeter_find_library NAME MODULE REMEDY)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(${NAME} QUIET IMPORTED_TARGET ${MODULE})
  endif()
  if(NOT ${NAME}_FOUND)
    hopmeter_lacks("${MODULE} is missing (or pkg-config is): ${REMEDY}")
  endif()
endmacro()

# Adds a node whose library pkg-config finds: hopmeter_add_library_node(nats libnats "install libnats-dev" nats.cpp).
macro(hopmeter_add_library_node NAME MODULE REMEDY)
  hopmeter_find_library(${NAME} ${MODULE} "${REMEDY}")
  hopmeter_add_node(${NAME} ${ARGN})
  target_link_libraries(hopmeter-node-${NAME}-cpp PRIVATE PkgConfig::${NAME})
endmacro()

# Finds a package that the user has installed in the folder that the environment variable ROOT names, and only there:
# hopmeter_find_owned(ZENOH_ROOT "install zenoh-c, and set ZENOH_ROOT to where it is installed" zenohc 1.10).
macro(hopmeter_find_owned ROOT REMEDY PACKAGE VERSION)
  list(PREPEND CMAKE_PREFIX_PATH "$ENV{${ROOT}}")  # for the packages that PACKAGE itself needs
  find_package(${PACKAGE} ${VERSION} QUIET NO_DEFAULT_PATH PATHS "$ENV{${ROOT}}")
  if(NOT ${PACKAGE}_FOUND)
    set(_considered "${${PACKAGE}_CONSIDERED_VERSIONS}")
    list(JOIN _considered ", " _considered)
    string(PREPEND _considered "${PACKAGE} ${VERSION} is not in ${ROOT} ($ENV{${ROOT}}); found: ")
    string(REGEX REPLACE "; found: $" "" _considered "${_considered}")
    hopmeter_lacks("${_considered}: ${REMEDY}")
  endif()
endmacro()

# Sets NAME to the folder of a Python package that contains a C++ library. The macro searches the Python that runs
# `hopmeter build` or, without `hopmeter build`, the first python3 of PATH. NAME is not cached, because the package may
# be updated.
macro(hopmeter_find_python_package NAME PACKAGE)
  find_program(Python3_EXECUTABLE python3)
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -c
      "from importlib.util import find_spec as find; print(find('${PACKAGE}').submodule_search_locations[0])"
    OUTPUT_VARIABLE ${NAME} OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE _failed)
  if(_failed)
    hopmeter_lacks("${Python3_EXECUTABLE} has no package ${PACKAGE}: run `pip install ${PACKAGE}`")
  endif()
endmacro()

# Adds a node that uses the C library of its transport's Rust crate. Cargo builds this library together with the Rust node,
# and the library is next to the nodes, as in a package.
macro(hopmeter_add_rust_library_node NAME)
  get_filename_component(_cargo_release "${HOPMETER_LIBRARY}" DIRECTORY)
  set(_root "${CMAKE_CURRENT_SOURCE_DIR}/../../..")
  find_library(HOPMETER_${NAME}_LIBRARY NAMES libhopmeter_${NAME}.so NO_DEFAULT_PATH DOC "The C library of ${NAME}"
    PATHS "${_cargo_release}" "${_root}/build/nodes" "${_root}/nodes")
  if(NOT HOPMETER_${NAME}_LIBRARY)
    hopmeter_lacks("libhopmeter_${NAME}.so is nowhere to be found: run `hopmeter build ${NAME} --language rust`")
  endif()

  hopmeter_add_node(${NAME} ${ARGN})
  target_link_libraries(hopmeter-node-${NAME}-cpp PRIVATE "${HOPMETER_${NAME}_LIBRARY}")
  # The loader first searches next to the node, and then, for a node in another folder, where CMake found the library.
  get_filename_component(_library_folder "${HOPMETER_${NAME}_LIBRARY}" DIRECTORY)
  set_target_properties(hopmeter-node-${NAME}-cpp PROPERTIES
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN;${_library_folder}")
endmacro()
