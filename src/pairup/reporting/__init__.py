"""What people look at: figures, tables and the page of a report."""
