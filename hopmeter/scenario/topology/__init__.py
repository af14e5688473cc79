"""Converts topologies of iRobot's ros2-performance to workloads."""
