"""What can be wrong with a home: named checks that find it, say it in a line, and can repair it."""

from openclaw.app.health.checkup import CHECKS, Result, checkup

__all__ = ["CHECKS", "Result", "checkup"]
