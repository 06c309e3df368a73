"""The steps, a file each."""
