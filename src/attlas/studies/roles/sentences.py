"""What texts of needles, documents and instructions are made of: sentences of our own, about nothing in particular.

Filler is neutral: no sentence depends on another, so that they may stand in any order, and none says where anything
is kept. A needle is one such fact, "The baker keeps the red diary in the left boot under the bed", whose last part
nobody could guess.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

FILLER = (
    "The morning train was a little late, and nobody on the platform seemed to mind.",
    "A light rain had fallen in the night, so the streets still smelled of wet dust.",
    "Two boys threw pebbles into the canal and counted the rings that spread.",
    "The market opened at seven with bread, onions, soap and baskets of early plums.",
    "An old radio in the barber's shop played dances that few people remembered.",
    "On the hill behind the school the grass had been cut for the second time.",
    "The post came twice that day, which had not happened since the winter.",
    "A cat slept on the warm stones beside the fountain until noon.",
    "Someone had painted the railings green, and the paint was not yet dry.",
    "The river was low, and the ferry waited on the far side for an hour.",
    "In the library a clock struck four, although it was only half past three.",
    "Clouds moved over the fields so slowly that they hardly seemed to move at all.",
    "The bakery sold out of rye bread before the children left for school.",
    "A van with a broken lamp stood in front of the town hall all week.",
    "Swallows had built a nest above the door of the chemist.",
    "The council argued about the new bridge and decided nothing.",
    "Every evening the same man walked his two dogs along the harbour wall.",
    "The apples were small that year, but there were a great many of them.",
    "A choir practised in the chapel, and the windows were open.",
    "The price of coal had gone up again, as it did every autumn.",
    "Near the mill a heron stood in the shallow water and did not stir.",
    "The bus to the coast was full of people with hats and folding chairs.",
    "Somebody practised the trumpet in the third house on the left.",
    "The snow came early and was gone again within two days.",
    "A notice on the church door announced a sale of used books.",
    "The engineer measured the road and wrote long numbers in a small notebook.",
    "Wasps gathered around the jam, so lunch was moved inside.",
    "The tide was out, and the boats lay on their sides in the mud.",
    "In the afternoon the wind turned, and the washing dried quickly.",
    "The museum had a new room with maps of places that no longer exist.",
    "A kite hung in the elm for most of the summer.",
    "The film was long, and half the audience had left before it ended.",
    "Farmers from the valley brought cheese, honey and a very loud goose.",
    "The lamp above the crossing blinked yellow for no reason at all.",
    "Behind the station there was a yard full of rusty wheels.",
    "The dentist had the only tall palm in the whole town.",
    "At dusk the bats came out from under the roof of the barn.",
    "The soup was too salty, yet everyone asked for more.",
    "A letter without a stamp had travelled all the way from the islands.",
    "The new teacher could draw any animal with a single line.",
    "There was frost on the inside of the windows in the upper rooms.",
    "The fair left a ring of yellow grass where the carousel had been.",
    "Once a month a piano tuner came by on his bicycle.",
    "The ducks crossed the road in single file, and the cars waited.",
    "A very thin book about clouds was the most popular of the season.",
    "The hotel changed its name but not its carpets.",
    "On Thursdays the pharmacist closed early to play chess.",
    "The well in the square had been dry for as long as anyone knew.",
    "Fog hid the towers, so that only their bells told where they were.",
    "The carpenter whistled while he worked and stopped when it rained.",
    "Half of the seats in the theatre were under repair.",
    "The geese flew south in October, a week later than usual.",
    "A painter had set up his easel in the middle of the footbridge.",
    "The tram line was extended by two stops and a roundabout.",
    "Nobody could say who had planted the tulips on the roundabout.",
    "The last house in the lane had a roof of blue slates.",
    "They served tea with lemon and thin slices of ginger cake.",
    "The telescope was pointed at the moon, which hid behind a cloud.",
    "An umbrella was forgotten in the waiting room and stayed there for years.",
    "The gardener swore that the roses liked to be spoken to.",
    "Newspapers from the capital arrived with a delay of one day.",
    "The swimming pool was empty, and leaves danced on its floor.",
    "The judge preferred to walk home by the longer way.",
    "A flock of sheep blocked the road to the quarry for ten minutes.",
    "The orchestra tuned its instruments for what felt like an hour.",
    "In spring the cellar smelled of potatoes and cold iron.",
    "The number on the gate had lost its second digit.",
    "Students sat on the steps and shared a bag of cherries.",
    "The lighthouse was switched to electric light without any ceremony.",
    "A sudden gust turned all the weathervanes to the east.",
    "The printer had run out of the letter k, so the posters looked odd.",
    "By nightfall the square was empty, and the chairs were stacked.",
)
WHO = (
    "beekeeper", "baker", "sailor", "painter", "miller", "tailor", "hunter", "singer", "farmer", "doctor",
    "glass blower", "old widow", "night guard", "bus driver", "young nurse", "tall monk", "retired captain",
    "clock maker", "florist", "postman", "cook", "blacksmith", "fisherman", "village priest",
)  # fmt: skip
WHAT = (
    "spare lantern", "silver whistle", "wedding ring", "rusty key", "glass marble", "family seal", "brass compass",
    "red diary", "music box", "golden coin", "ivory comb", "old map", "train ticket", "tin soldier", "pearl button",
    "violin bow", "chess queen", "pocket watch", "garden shears", "wooden flute", "secret recipe", "fur cap",
    "blue candle", "small telescope",
)  # fmt: skip
WHERE = (
    "inside the cracked teapot on the kitchen shelf", "under the third stair of the cellar",
    "behind the loose brick near the oven", "in the pocket of a grey winter coat",
    "between the pages of a cookery book", "beneath the roots of the walnut tree",
    "on top of the wardrobe in the attic", "inside a hollow loaf made of plaster",
    "below the seat of the yellow rowing boat", "in a jar of dried lavender by the window",
    "at the bottom of the flour sack", "behind the mirror in the narrow hall",
    "under a flat stone beside the pond", "inside the belly of the stuffed owl",
    "in the left boot under the bed", "behind the portrait of the stern aunt",
    "inside the broken church organ", "under the cushion of the rocking chair",
    "in the third beehive from the gate", "behind the barrels of salted herring",
    "inside the drum of the marching band", "beneath the carpet of the music room",
    "in the chimney above the blue tiles", "inside the pump behind the stable",
)  # fmt: skip
INSTRUCTIONS = (
    "Count how many sentences the following text has.", "Translate the following text into French.",
    "Write down every colour that the following text mentions.", "Say in one word what the following text is about.",
    "Correct all mistakes of spelling in the following text.", "Write the following text in capital letters.",
    "Name the animals that appear in the following text.", "Turn the following text into a short poem.",
    "Tell whether the following text is cheerful or sad.", "List all verbs of the following text in their order.",
    "Make a title of at most five words for the following text.", "Explain the following text to a small child.",
    "Find the longest word in the following text.", "Rewrite the following text in the present tense.",
    "Say which season the following text describes.", "Answer with yes if the following text mentions water.",
    "Repeat only the last sentence of the following text.", "Summarise the following text in ten words.",
    "Replace each noun of the following text by a number.", "Say how many people the following text speaks of.",
    "Write one question about the following text.", "Put the words of the following text in alphabetical order.",
    "Continue the following text with one more sentence.", "Tell which language the following text is written in.",
)  # fmt: skip


class Fact(NamedTuple):
    """A needle: who keeps what where.

    >>> Fact("baker", "red diary", "in the left boot under the bed").said
    'The baker keeps the red diary'
    """

    who: str
    what: str
    where: str

    @property
    def said(self) -> str:
        """The beginning of the sentence, up to where it tells the place.

        >>> Fact("baker", "red diary", "x").said
        'The baker keeps the red diary'
        """
        return f"The {self.who} keeps the {self.what}"

    @property
    def question(self) -> str:
        """What is asked.

        >>> Fact("baker", "red diary", "x").question
        'Where does the baker keep the red diary?'
        """
        return f"Where does the {self.who} keep the {self.what}?"


def facts(generator: np.random.Generator, count: int, half: int | None = None) -> list[Fact]:
    """So many facts; none of one ``half`` (0 or 1) has a question of the other half.

    >>> drawn = facts(np.random.default_rng(0), 24)
    >>> len({fact.where for fact in drawn}), len({fact.who for fact in drawn})
    (24, 24)
    >>> one, other = ({f.question for f in facts(np.random.default_rng(0), 90, half)} for half in (0, 1))
    >>> one & other
    set()
    """
    drawn: dict[Fact, None] = {}
    while len(drawn) < count:
        orders = [generator.permutation(len(words)).tolist() for words in (WHO, WHAT, WHERE)]
        for who, what, where in zip(*orders, strict=True):
            if half is None or (who + what) % 2 == half:
                drawn[Fact(WHO[who], WHAT[what], WHERE[where])] = None
    return list(drawn)[:count]


def filler(generator: np.random.Generator) -> list[str]:
    """All sentences of filler in an order of their own.

    >>> len(filler(np.random.default_rng(0))) == len(FILLER)
    True
    """
    return [FILLER[at] for at in generator.permutation(len(FILLER))]
