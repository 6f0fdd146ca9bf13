"""Cascades as data: one YAML file a preset, in the form of a cascade in ``aucert.yaml``."""
