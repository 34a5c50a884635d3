"""Changed copies of the code that the tests must notice; see :mod:`tools.mutants.__main__`."""
