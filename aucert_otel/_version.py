"""The version, in one place: the build and the instrumentation scope both read it."""

__version__ = "0.1.0"
