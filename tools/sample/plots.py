"""All plots of the sample corpus."""

from __future__ import annotations

from tools.sample import plots_people, plots_scenes, plots_talk, plots_things, plots_times
from tools.sample.scene import Plot

PLOTS: tuple[Plot, ...] = (
    plots_things.PLOTS + plots_people.PLOTS + plots_talk.PLOTS + plots_times.PLOTS + plots_scenes.PLOTS
)
