"""The site of an atlas: a folder of static files in which all that is known of the heads of models can be seen.

It opens from a disk, where nothing can be fetched, and from any web server. Pages are drawn by one script from data
that lie beside it as small scripts, one for each part of each model, which are added to the page when they are asked
for; nothing outside the folder ever is. What goes in are the tables of an atlas (:mod:`attlas.website.given` lists
them), and everything a page says comes from these.

The steps: :mod:`.given` reads the tables, :mod:`.grids` lays figures out by head, :mod:`.models` makes the files of a
model, :mod:`.index` what is said of all models, :mod:`.searching` the index of words, :mod:`.packing` writes numbers
small and texts safe, and :mod:`.writing` puts the folder together.
"""

from attlas.website.writing import address, write_site

__all__ = ["address", "write_site"]
