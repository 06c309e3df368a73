"""Reporting: figures, tables and the page of a report."""
