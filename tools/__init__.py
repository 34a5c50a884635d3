"""Tools that write files of the package and are no part of it; targets of the Makefile run them."""
