"""Estimators with scikit-learn's habits."""
