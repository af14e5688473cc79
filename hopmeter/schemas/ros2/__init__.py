"""Definitions of ROS 2 messages: their text, the files that have them, and those that ROS 2 ships."""
