/// Loads the link ends of a message type from the library that `hopmeter build --message` built for the type.
#pragma once

#include <dlfcn.h>

#include <memory>
#include <string>

#include "house.hpp"

namespace ros2 {

/// Opens the link ends of one type.
class TypeEnds {
 public:
  virtual ~TypeEnds() = default;
  virtual std::unique_ptr<hopmeter::Publisher> publisher(House& house, const hopmeter::Link& link) const = 0;
  virtual std::unique_ptr<hopmeter::Subscriber> subscriber(House& house, const hopmeter::Link& link) const = 0;
  virtual std::unique_ptr<hopmeter::Subscription> subscribe(House& house, const hopmeter::Link& link,
                                                            hopmeter::OnFrame on_frame) const = 0;
  virtual std::unique_ptr<hopmeter::Server> server(House& house, const hopmeter::Link& link) const = 0;
  virtual std::unique_ptr<hopmeter::Client> client(House& house, const hopmeter::Link& link) const = 0;
};

/// Returns the link ends for a link's type. The library stays loaded until the process ends.
inline const TypeEnds& type_ends(const hopmeter::Link& link) {
  const auto path = link.message_code + "/lib/libhopmeter_type.so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* found = library ? dlsym(library, "hopmeter_ros2_type_ends") : nullptr;
  if (!found)
    throw hopmeter::Error("this ROS 2 has no " + link.message_type + ": " + dlerror(),
                          "run `hopmeter build --message " + link.message_type + "` with the same ROS 2");
  return *reinterpret_cast<const TypeEnds* (*)()>(found)();
}

}  // namespace ros2
