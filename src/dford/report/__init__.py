"""Reports: what was run, as one page to open in a browser and one to read in a repository."""

from dford.report.write import About, write_report

__all__ = ["About", "write_report"]
