"""The matchmaking service: pools of live players over HTTP, on a log that loses nothing.

Needs the extra `serve`: pip install "pairup[serve]".
"""
