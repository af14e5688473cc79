/// Assertions for tests: a failed assertion prints its source line and ends the program.
#pragma once

#include <cstdlib>
#include <iostream>
#include <source_location>
#include <string>

inline void check(bool claim, const std::string& what, std::source_location at = std::source_location::current()) {
  if (claim) return;
  std::cerr << at.file_name() << ":" << at.line() << ": not so: " << what << "\n";
  std::exit(1);
}

inline void check_equal(const std::string& got, const std::string& want,
                        std::source_location at = std::source_location::current()) {
  check(got == want, "`" + got + "` is `" + want + "`", at);
}
