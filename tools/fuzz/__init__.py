"""Input made to break things: mutants of small files, each of which must end in a result or in one sentence."""
