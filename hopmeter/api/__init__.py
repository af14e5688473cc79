"""The Python API, which the commands also use: `import hopmeter; hopmeter.run("quick")`."""
