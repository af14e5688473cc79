"""The functions of hopmeter for programs, and for the commands: `import hopmeter; hopmeter.run("quick")`."""
