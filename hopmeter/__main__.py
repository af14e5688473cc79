"""`python -m hopmeter` is `hopmeter`."""

from hopmeter.cli.main import run

if __name__ == "__main__":
    run()
