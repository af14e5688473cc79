"""A topology of iRobot's ros2-performance as a workload."""
