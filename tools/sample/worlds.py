"""All worlds of the sample corpus, and the names of the people who live in them."""

from __future__ import annotations

from tools.sample.worlds_indoors import COURT, HOSPITAL, MUSEUM, ORCHESTRA, RESTAURANT, SCHOOL, SOFTWARE
from tools.sample.worlds_outdoors import FARM, FOOTBALL, HARBOR, MOUNTAIN, RAILWAY, SPACE

WORLDS = (
    FARM, HARBOR, RAILWAY, FOOTBALL, MOUNTAIN, SPACE, RESTAURANT, HOSPITAL, SCHOOL, COURT, ORCHESTRA, SOFTWARE,
    MUSEUM,
)  # fmt: skip

WOMEN = (
    "Anna", "Maria", "Clara", "Ruth", "Sofia", "Helen", "Nina", "Laura", "Emma", "Olga", "Grace", "Alice", "Diana",
    "Julia", "Martha", "Rosa", "Irene", "Lucy", "Amina", "Yuki",
)  # fmt: skip
MEN = (
    "Tom", "Daniel", "Peter", "Oscar", "Simon", "Hugo", "Martin", "Leo", "Victor", "Karim", "Paul", "Henry", "Felix",
    "Samuel", "Ivan", "Carlos", "Walter", "Ben", "Adam", "Kenji",
)  # fmt: skip
SURNAMES = (
    "Berg", "Lopez", "Carter", "Novak", "Silva", "Meyer", "Rossi", "Khan", "Tanaka", "Walsh", "Dubois", "Larsen",
)  # fmt: skip
KIN = {
    "she": ("sister", "daughter", "aunt", "cousin", "niece"),
    "he": ("brother", "son", "uncle", "cousin", "nephew"),
}
ELDERS = {
    "she": ("mother", "aunt", "grandmother", "older sister"),
    "he": ("father", "uncle", "grandfather", "older brother"),
}
