"""Input made to break things: mutants of small files and drawn command lines, each of which must end in a
result or in one sentence."""
