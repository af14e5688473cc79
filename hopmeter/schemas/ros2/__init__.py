"""Handles ROS 2 message definitions: parses the definitions, finds their files, and provides those that ROS 2 ships."""
