"""Changes of the experiment of roles: who is named, on which texts, against whom, and by which formula."""

from __future__ import annotations

_FILE = "tests/design/test_roles_design.py"
_PLANTED = ("tests/studies/test_planted_roles.py",)
_NAIVE = ("tests/studies/test_roles_naive.py",)
_TABLES, _BEHAVIOUR = "studies/roles/tables.py", "studies/roles/behaviour.py"


def _by(test: str) -> tuple[str, ...]:
    return (f"{_FILE}::test_{test}",)


CHANGES = [
    (52, "roles: heads are named on the half that is scored", _TABLES,
     "value = scores.mean(1)[..., number]", "value = scores.mean(2)[..., number]",
     _by("heads_are_named_on_one_half_and_scored_on_the_other")),
    (53, "roles: named heads are told from where they were chosen", _TABLES,
     "outcome.own.mean(1), figures(outcome, number, 2)", "outcome.own.mean(1), figures(outcome, number, 1)",
     _by("heads_are_named_on_one_half_and_scored_on_the_other")),
    (54, "roles: the twin's head is told from where it was chosen", _TABLES,
     "outcome.twins[0].mean(2)", "outcome.twins[0].mean(1)",
     _by("the_twins_head_is_chosen_and_scored_in_the_same_way")),
    (55, "roles: the twin is the model", "studies/roles/call.py",
     "at_place(trial.part)(studied, kept, setting)", "at_place(trial.part)(run.subject, kept, setting)",
     _by("twins_are_scored_with_weights_of_their_own")),
    (56, "roles: p is not corrected", _TABLES, "seed=seed).p_corrected", "seed=seed).p",
     _by("p_is_corrected_for_all_heads_and_asks_for_more_than_chance")),
    (57, "roles: chance is dropped", _TABLES,
     "sums - counts * self.chance(number)[:, None]", "sums - 0 * self.chance(number)[:, None]",
     _by("p_is_corrected_for_all_heads_and_asks_for_more_than_chance")),
    (58, "roles: p asks for large figures where small ones are meant", _TABLES,
     "return (-beyond if", "return (beyond if", _by("small_figures_are_named_where_these_are_meant")),
    (59, "roles: large figures are named where small ones are meant", _TABLES,
     "np.argsort(value if definition.below else -value", "np.argsort(-value",
     _by("small_figures_are_named_where_these_are_meant")),
    (60, "roles: heads are closed on texts on which they were chosen", "studies/roles/texts.py",
     "if text.unit % 2][: setting.tested]", "if not text.unit % 2][: setting.tested]",
     _by("no_head_is_closed_on_texts_on_which_heads_are_chosen")),
    (61, "roles: the others may be the chosen heads", _BEHAVIOUR,
     " - {(c.layer, c.head) for c in chosen}", "", _by("others_are_as_many_disjoint_and_near")),
    (62, "roles: the others are of any layer", _BEHAVIOUR, "NEAR = 2  # layers", "NEAR = 99  # layers",
     _by("others_are_as_many_disjoint_and_near")),
    (63, "roles: p not counting the named heads", _BEHAVIOUR,
     "(1 + as_large.sum()) / (1 + len(others))", "as_large.sum() / len(others)",
     _by("p_is_the_rank_among_other_sets")),
    (64, "roles: a sign is turned where heads are closed", _BEHAVIOUR,
     "others >= own if rises", "others <= own if rises", _by("p_is_the_rank_among_other_sets")),
    (65, "roles: p of roles are not corrected", "studies/roles/effects.py",
     'holm([row["p"] for row in rows])', '[row["p"] for row in rows]',
     _by("p_of_roles_are_corrected_by_holm_and_names_hold_or_do_not")),
    (66, "roles: without the heads less the whole is turned round", "studies/roles/effects.py",
     "estimate(closed.losses[1] - closed.losses[0]", "estimate(closed.losses[0] - closed.losses[1]",
     _by("p_of_roles_are_corrected_by_holm_and_names_hold_or_do_not")),
    (67, "roles: definitions agree without their signs", "studies/roles/concordance.py",
     "sign = -1.0 if definition.below else 1.0", "sign = 1.0",
     _by("definitions_agree_with_their_sign_and_over_texts")),
    (68, "roles: prefix matching is one piece too early", "studies/roles/seen.py",
     "following[:, :, 1:] = self.earlier[:, :, :-1]", "following[:, :, :-1] = self.earlier[:, :, 1:]", _PLANTED),
    (69, "roles: the piece before is the one before that", "studies/roles/places.py",
     "roll(-1, 1).tril(-1)", "roll(-2, 1).tril(-2)", _NAIVE),
]  # fmt: skip
