/// The rmw that the environment selects: checks that the rmw exists, and returns its version.
#pragma once

#include <rmw/rmw.h>
#include <unistd.h>

#include <ament_index_cpp/get_package_prefix.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

namespace ros2 {

/// Returns an environment variable. `getenv` does not work this early in the process.
inline const char* variable(char** environment, const char* name) {
  const auto length = strlen(name);
  for (; *environment; ++environment)
    if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') return *environment + length + 1;
  return nullptr;
}

/// Exits with a remedy if the selected rmw is not installed. The function runs before the C++ runtime is initialised,
/// because rcl, which is loaded before `main`, would exit without a remedy.
inline void demand_rmw(int, char**, char** environment) {
  const char* asked = variable(environment, "RMW_IMPLEMENTATION");
  const char* prefixes = variable(environment, "AMENT_PREFIX_PATH");
  if (!asked || !*asked || !prefixes) return;
  for (const char* at = prefixes; *at;) {
    const auto length = static_cast<int>(strcspn(at, ":"));
    char path[4096];
    snprintf(path, sizeof path, "%.*s/share/ament_index/resource_index/rmw_typesupport/%s", length, at, asked);
    if (access(path, F_OK) == 0) return;
    at += length + (at[length] == ':');
  }
  fprintf(stderr,
          "RMW_IMPLEMENTATION selects %s, which no ROS 2 in AMENT_PREFIX_PATH has: install that rmw, or name one of "
          "share/ament_index/resource_index/rmw_typesupport there\n",
          asked);
  _exit(1);
}

__attribute__((section(".preinit_array"), used)) static void (*before_libraries)(int, char**, char**) = demand_rmw;

/// Reads the version from the rmw's package.xml, because no rmw reports its own version.
inline std::string rmw_version() {
  const std::string name = rmw_get_implementation_identifier();
  try {
    std::ifstream file(ament_index_cpp::get_package_prefix(name) + "/share/" + name + "/package.xml");
    std::stringstream text;
    text << file.rdbuf();
    const auto told = text.str();
    std::smatch found;
    if (std::regex_search(told, found, std::regex("<version>([^<]+)</version>"))) return name + " " + found[1].str();
  } catch (const ament_index_cpp::PackageNotFoundError&) {
  }
  return name;
}

}  // namespace ros2
