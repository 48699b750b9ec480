"""Engines too heavy for the ordinary environment: `make engines` makes one that has them, and runs these."""
