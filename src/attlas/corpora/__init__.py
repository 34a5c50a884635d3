"""From files to documents: one reader for each format, and :func:`read`, which finds the right one.

The formats are CoNLL-U (treebanks), CoNLL-2000 and its like (chunks, entities), CoNLL-2012 and OntoGUM
(coreference), bitexts with gold links, two parallel files or columns, JSON lines with key phrases, labelled texts and
pairs (tables as in GLUE and CoLA, CSV, JSON lines), sentiment trees, labelled spans (JSON lines; PropBank,
proto-roles and SemEval relations too), and plain text; each plain or compressed by gzip or xz, in UTF-8.
:func:`read_edges` makes of any of them the labelled spans of a task.
Whatever is wrong with a file is said in one sentence with the file and the line.

>>> from attlas.corpora.source import Source
>>> read(Source.of_text("das Haus ||| the house", name="a.txt")).documents[0].translation.text
'the house'
"""

from attlas.corpora.bitexts import joined, linked, read_bitexts, swapped
from attlas.corpora.conll2000 import read_conll2000
from attlas.corpora.conll2012 import read_conll2012
from attlas.corpora.conllu import read_conllu
from attlas.corpora.corpus import Corpus, read
from attlas.corpora.edges import EDGE_TASKS, EdgeTask, edges_in, edges_of, is_paired, read_edge_parts, read_edges
from attlas.corpora.keyphrases import read_keyphrases
from attlas.corpora.labelled import read_labelled
from attlas.corpora.limits import Limits, limited
from attlas.corpora.parallel import read_parallel
from attlas.corpora.pharaoh import read_bitext, write_links
from attlas.corpora.plain import read_articles, read_plain
from attlas.corpora.propbank import read_propbank
from attlas.corpora.protoroles import read_protoroles
from attlas.corpora.quoted import read_quoted
from attlas.corpora.semeval import read_semeval
from attlas.corpora.spans import read_spans, write_spans
from attlas.corpora.sst import read_sst
from attlas.corpora.streaming import StreamedCorpus, open_corpus, stream
from attlas.corpora.tsv import read_tsv

__all__ = [
    "EDGE_TASKS", "Corpus", "EdgeTask", "Limits", "StreamedCorpus", "edges_in", "edges_of", "is_paired", "joined",
    "limited", "linked", "open_corpus", "read",
    "read_articles", "read_bitext", "read_bitexts", "read_conll2000", "read_conll2012", "read_conllu",
    "read_edge_parts", "read_edges", "read_keyphrases", "read_labelled", "read_parallel", "read_plain",
    "read_propbank", "read_protoroles", "read_quoted", "read_semeval", "read_spans", "read_sst", "read_tsv",
    "stream", "swapped", "write_links", "write_spans",
]  # fmt: skip
