"""The processes of a trial on their host: nodes, brokers and background load, their CPU and their ends."""
