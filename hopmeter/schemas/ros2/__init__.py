"""Definitions of ROS 2 messages: how hopmeter reads their text, finds their files, and which ones ROS 2 ships."""
