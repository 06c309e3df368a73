"""Schemas: the JSON that is sent and answered, as the OpenAPI description shows it.

They need pydantic only, so that a client can use them without the web server.
"""
