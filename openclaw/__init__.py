"""openclaw: a personal agent that lives in a folder of plain files."""

__version__ = "0.1.0"
