"""Key words: what attention says about which words of a text matter, and key phrases made of that.

``weighing`` gives every word of a document a weight from what heads let it receive; ``phrases`` makes key phrases of
such weights, wherever they come from; ``choice`` says which heads; ``extraction`` goes the whole way; ``scoring``
holds phrases against those that people gave; ``columns`` are those that several tables have.
"""
