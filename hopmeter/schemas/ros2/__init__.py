"""Definitions of ROS 2 messages: parses their text, finds their files, and provides those that ROS 2 ships."""
