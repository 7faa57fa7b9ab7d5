"""How far one record can move a release: one function per lemma, each returns a `Bound`."""
