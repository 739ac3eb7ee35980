"""From pictures and encoders to an attribution: find faces, draw matches, alter, encode, measure.

Every picture is altered once for all encoders, and every altered picture is encoded once: what is
in the cache is not made again, whatever is asked of it later.
"""
