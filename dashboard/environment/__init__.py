"""Reads and checks the environment: every variable, what it may hold, and what to do when it does not."""

from dashboard.environment.kept import kept
from dashboard.environment.reading import Environment, read
from dashboard.environment.values import BadEnvironment
from dashboard.environment.variables import VARIABLES, Variable

__all__ = ["VARIABLES", "BadEnvironment", "Environment", "Variable", "kept", "read"]
