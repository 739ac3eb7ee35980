"""Reading, checking, splitting and writing vectors; synthetic worlds with known truth.

Nothing is imported here, so that ``import efface`` stays quick: see the modules.
"""
