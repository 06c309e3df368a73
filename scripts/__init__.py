"""What makes parts of the documentation: reference pages and figures."""
