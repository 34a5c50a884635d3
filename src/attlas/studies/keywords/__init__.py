"""Key words: what attention says about which words of a text matter, and key phrases made of that.

:mod:`~attlas.studies.keywords.weighing` gives every word of a document a weight from what heads let it receive;
:mod:`~attlas.studies.keywords.phrases` makes key phrases of such weights, wherever they come from;
:mod:`~attlas.studies.keywords.choice` says which heads; :mod:`~attlas.studies.keywords.scoring` holds phrases against
those that people gave.
"""
