"""Syncline for Python programs."""
