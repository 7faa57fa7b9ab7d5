"""The pages under ``docs/algorithms``, one per named algorithm, from the registry, the code, the tests and words.

``make pages`` writes them, ``tests/test_algorithm_pages.py`` writes them again and compares.
"""
