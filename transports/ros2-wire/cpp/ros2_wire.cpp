/// The adapter for the ROS 2 wire protocol with Cyclone DDS or Fast DDS. The adapter uses the messages of ../idl and
/// ROS 2's topic and service names, without rcl, rclcpp or an executor.
#include "hopmeter/choice.hpp"
#include "services.hpp"

using namespace hopmeter;

namespace {

class Ros2Wire final : public Choice {
 public:
  explicit Ros2Wire(const Setup& setup) : Ros2Wire(setup, setup.setting<std::string>("dds") == "fastdds") {}

  static std::string version() { return wire::cyclonedds_version() + ", " + wire::fastdds_version(); }
  std::string library() const { return library_; }

 private:
  Ros2Wire(const Setup& setup, bool is_fast)
      : Choice(is_fast ? wire::open_fastdds(setup) : wire::open_cyclonedds(setup)),
        library_(is_fast ? wire::fastdds_version() : wire::cyclonedds_version()) {}

  std::string library_;
};

}  // namespace

int main(int argc, char** argv) { return run<Ros2Wire>(argc, argv); }
