"""Policies for two sides that rank items for positions."""
