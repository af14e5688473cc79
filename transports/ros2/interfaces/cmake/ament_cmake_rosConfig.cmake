# Used if the ROS 2 has no ament_cmake_ros. What the generators of messages need of it is in ament_cmake; the rest is for tests.
find_package(ament_cmake REQUIRED)
