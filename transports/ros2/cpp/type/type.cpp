/// The library for one message type; CMakeLists.txt defines the macros.
#include HOPMETER_TYPE_HEADER
#include HOPMETER_FRAMED_HEADER
#include HOPMETER_CALL_HEADER
#include "../own_types.hpp"

extern "C" const ros2::TypeEnds* hopmeter_ros2_type_ends() {
  static const ros2::TypeEndsOf<HOPMETER_TYPE, HOPMETER_FRAMED, HOPMETER_CALL, HOPMETER_HAS_HEADER, HOPMETER_IS_BOUNDED>
      ends;
  return &ends;
}
