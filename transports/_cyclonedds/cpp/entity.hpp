/// What Cyclone DDS calls an entity, with an owner.
#pragma once

#include <dds/dds.h>

#include <string>
#include <string_view>
#include <utility>

#include "hopmeter/error.hpp"

namespace cyclone {

/// What Cyclone DDS answers to a call, or the error that it stands for.
inline dds_return_t demand(dds_return_t code, std::string_view what, std::string_view remedy = {}) {
  if (code >= 0) return code;
  throw hopmeter::Error("Cyclone DDS could not " + std::string(what) + ": " + dds_strretcode(code),
                        std::string(remedy));
}

/// Deletes its entity. For a reader this waits until no listener of it runs.
class Entity {
 public:
  explicit Entity(dds_entity_t handle) noexcept : handle_(handle) {}
  Entity(Entity&& from) noexcept : handle_(std::exchange(from.handle_, 0)) {}
  Entity& operator=(Entity&&) = delete;
  ~Entity() {
    if (handle_ > 0) dds_delete(handle_);
  }

  dds_entity_t operator*() const noexcept { return handle_; }

 private:
  dds_entity_t handle_;
};

}  // namespace cyclone
