# The CMake toolchain for cross-compiling to aarch64 with Debian's cross compiler; qemu-user runs the result. CMake ignores
# libraries for this machine's own processor, so adapters that need one are skipped.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

# CMake also finds the files that Cargo built.
get_filename_component(_cargo_release "${HOPMETER_LIBRARY}" DIRECTORY)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HOPMETER_LIBRARY)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu "${_cargo_release}")
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_LIBDIR} /usr/aarch64-linux-gnu/lib/pkgconfig)
