/// Errors that state what failed, what caused the failure, and how to fix the problem.
#pragma once

#include <cerrno>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "hopmeter/abi.h"

namespace hopmeter {

/// The exception that an adapter should throw. Other exceptions work too, but carry no remedy. Use
/// `std::throw_with_nested` to preserve causes.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what, std::string remedy = {})
      : std::runtime_error(what), remedy_(std::move(remedy)) {}

  /// Creates the error for a system call that has just failed, with `errno` as its cause.
  static Error system(const std::string& what, std::string remedy = {}) {
    return Error(what + ": " + std::system_category().message(errno), std::move(remedy));
  }

  /// Creates the error for a kind of link end that the adapter does not support.
  static Error unsupported(const std::string& end, const std::string& link) {
    return Error("the adapter does not implement " + end + " (needed for link " + link + ")",
                 "in transport.toml, list only the patterns and waits that the adapter implements");
  }

  const std::string& remedy() const noexcept { return remedy_; }

 private:
  std::string remedy_;
};

namespace detail {

inline HopmeterText text(std::string_view from) noexcept { return {from.data(), from.size()}; }

inline std::string string(HopmeterText from) {
  return from.bytes == 0 ? std::string() : std::string(from.data, from.bytes);
}

/// Collects the messages of an exception and of its nested causes. The remedy comes from the innermost exception with a
/// remedy, because that remedy is the most specific.
inline void collect(const std::exception& error, std::string& what, std::string& remedy) {
  what += (what.empty() ? "" : ": ") + std::string(error.what());
  if (const auto* ours = dynamic_cast<const Error*>(&error); ours && !ours->remedy().empty()) remedy = ours->remedy();
  try {
    std::rethrow_if_nested(error);
  } catch (const std::exception& cause) {
    collect(cause, what, remedy);
  } catch (...) {
    what += ": an exception that is not a std::exception";
  }
}

/// Reports the exception that is being handled to the instrument.
inline void report(const HopmeterError* out) noexcept {
  try {
    std::string what, remedy;
    try {
      throw;
    } catch (const std::exception& error) {
      collect(error, what, remedy);
    } catch (...) {
      what = "the adapter threw something that is not a std::exception";
    }
    out->put(out->context, text(what), text(remedy));
  } catch (...) {
    out->put(out->context, text("there is no memory left for the error message"), text(""));
  }
}

/// Runs adapter code. If the code throws, reports the exception and returns `failure`.
template <class Result, class Act>
Result guard(const HopmeterError* error, Result failure, Act&& act) noexcept {
  try {
    return act();
  } catch (...) {
    report(error);
    return failure;
  }
}

/// Calls a function of the instrument; if the function reports an error, throws the error.
template <class Act>
void demand(Act&& act) {
  struct Report {
    std::string what, remedy;
  } report;
  const HopmeterError sink{&report, [](void* context, HopmeterText what, HopmeterText remedy) {
                             auto& report = *static_cast<Report*>(context);
                             report.what = string(what);
                             report.remedy = string(remedy);
                           }};
  if (act(&sink) != HOPMETER_ACCEPTED) throw Error(report.what, report.remedy);
}

}  // namespace detail
}  // namespace hopmeter
