"""The one time that a trial measures if it measures no latency of each message: its first message, or its recovery."""
