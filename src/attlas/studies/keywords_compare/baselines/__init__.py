"""Other ways to find key phrases without training, to stand beside attention in one table.

Each is a function from documents to ranked phrases, one list for each document in turn, and all lists are held
against the given phrases in the same way. ``named`` says what a phrase is, ``methods`` which ways there are.
"""
