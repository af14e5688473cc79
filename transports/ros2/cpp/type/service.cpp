/// The library for one service type; CMakeLists.txt defines the macros.
#include HOPMETER_CALL_HEADER
#include "../own_services.hpp"

extern "C" const ros2::TypeEnds* hopmeter_ros2_type_ends() {
  static const ros2::ServiceEndsOf<HOPMETER_CALL, HOPMETER_HAS_HEADER, HOPMETER_REPLY_HAS_HEADER> ends;
  return &ends;
}
