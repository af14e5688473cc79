"""Handles definitions of ROS 2 messages: parses them, finds their files, and provides the definitions that ROS 2
ships."""
