/// The wire protocol of ROS 2 by Cyclone DDS or Fast DDS: messages of ../idl, topics and services as ROS 2 names them.
/// No rcl, no rclcpp, no executor.
#include "hopmeter/choice.hpp"
#include "hopmeter/hopmeter.hpp"
#include "wire.hpp"

using namespace hopmeter;

namespace {

class Ros2Wire final : public Choice {
 public:
  explicit Ros2Wire(const Setup& setup) : Ros2Wire(setup, setup.setting<std::string>("dds") == "fastdds") {}

  static std::string version() { return wire::by_cyclonedds::version() + ", " + wire::by_fastdds::version(); }
  std::string library() const { return library_; }

 private:
  Ros2Wire(const Setup& setup, bool is_fast)
      : Choice(is_fast ? wire::by_fastdds::carrier(setup) : wire::by_cyclonedds::carrier(setup)),
        library_(is_fast ? wire::by_fastdds::version() : wire::by_cyclonedds::version()) {}

  std::string library_;
};

}  // namespace

int main(int argc, char** argv) { return run<Ros2Wire>(argc, argv); }
