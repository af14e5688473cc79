"""The costs of messages in CPU, memory and stolen time, the limiting resource, and the causes of slow messages."""
