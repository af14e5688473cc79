"""The Python API, which the commands use too: `import hopmeter; hopmeter.run("quick")`."""
