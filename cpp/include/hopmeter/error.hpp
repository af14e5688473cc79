/// Errors: what failed, its causes, and what to do about it.
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

/// What an adapter throws. Any other exception works too; it has no remedy to show. Causes are kept with
/// `std::throw_with_nested`.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what, std::string remedy = {})
      : std::runtime_error(what), remedy_(std::move(remedy)) {}

  /// An operating-system call that failed just now, with `errno` as its cause.
  static Error system(const std::string& what, std::string remedy = {}) {
    return Error(what + ": " + std::system_category().message(errno), std::move(remedy));
  }

  /// An end that the adapter does not offer, though the plan asked for it.
  static Error unsupported(const std::string& end, const std::string& link) {
    return Error("the adapter offers no " + end + " (asked for link " + link + ")",
                 "let transport.toml list only the patterns and waits that the adapter has");
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

/// Collects an exception and its nested causes; the innermost remedy is the nearest to the trouble, so it wins.
inline void collect(const std::exception& error, std::string& what, std::string& remedy) {
  what += (what.empty() ? "" : ": ") + std::string(error.what());
  if (const auto* ours = dynamic_cast<const Error*>(&error); ours && !ours->remedy().empty()) remedy = ours->remedy();
  try {
    std::rethrow_if_nested(error);
  } catch (const std::exception& cause) {
    collect(cause, what, remedy);
  } catch (...) {
    what += ": an exception that is no std::exception";
  }
}

/// Puts the exception that is being handled where the instrument reads it.
inline void report(const HopmeterError* out) noexcept {
  try {
    std::string what, remedy;
    try {
      throw;
    } catch (const std::exception& error) {
      collect(error, what, remedy);
    } catch (...) {
      what = "the adapter threw something that is no std::exception";
    }
    out->put(out->context, text(what), text(remedy));
  } catch (...) {
    out->put(out->context, text("no memory is left to say what failed"), text(""));
  }
}

/// Runs an adapter's code so that no exception leaves it.
template <class Answer, class Act>
Answer guarded(const HopmeterError* error, Answer failed, Act&& act) noexcept {
  try {
    return act();
  } catch (...) {
    report(error);
    return failed;
  }
}

/// Calls into the instrument and throws what it reports.
template <class Act>
void demand(Act&& act) {
  struct Told {
    std::string what, remedy;
  } told;
  const HopmeterError sink{&told, [](void* context, HopmeterText what, HopmeterText remedy) {
                             auto& told = *static_cast<Told*>(context);
                             told.what = string(what);
                             told.remedy = string(remedy);
                           }};
  if (act(&sink) != HOPMETER_ACCEPTED) throw Error(told.what, told.remedy);
}

}  // namespace detail
}  // namespace hopmeter
