"""Maintenance of a database: verification, repair, backups, archives and exports."""
