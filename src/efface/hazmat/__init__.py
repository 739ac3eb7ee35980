"""Primitives that protect nobody alone. Use them through :mod:`efface.protect.template`."""
