"""Protections: what turns samples into a release. One folder per kind of representation."""
