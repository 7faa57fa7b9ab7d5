"""A demonstration on public data: what each level of privacy costs in accuracy."""
