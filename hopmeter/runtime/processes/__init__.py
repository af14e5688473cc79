"""The processes of a trial on one host: nodes, brokers and background load, with their CPU use and exits."""
