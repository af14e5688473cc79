# Replaces ament_cmake_ros if the ROS 2 installation lacks it. The message generators need only its ament_cmake part; the
# rest is for tests.
find_package(ament_cmake REQUIRED)
