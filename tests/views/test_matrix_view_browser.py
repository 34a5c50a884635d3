"""The matrix view in a browser: what it says, paints and writes into the address, against numbers reckoned here."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import numpy as np
import pytest
from drawn import place_of
from pointing import sweep
from scenes import page, reading, scene, strand

from attlas.ids import Stream
from attlas.views import Scene, Sequence, Strand

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

PAPER = (251, 250, 247)
MASKED = (233, 231, 225)
ORANGE = (0xC2, 0x57, 0x0C)  # the frame in the small map
STOPS = np.array([PAPER, (198, 219, 235), (120, 170, 210), (48, 108, 168), (12, 38, 84)], float)
FORTY = reading(tuple(f"w{at}" for at in range(40)))
SETTLE = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
PIXEL = """(canvas, points) => {
  const context = canvas.getContext("2d");
  return points.map(([x, y]) => [...context.getImageData(x, y, 1, 1).data].slice(0, 3));
}"""
# the box around all pixels near a colour, left of a limit: left, top, right, bottom
EXTENT = """(canvas, [r, g, b, limit]) => {
  const { width, height, data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const found = [width, height, -1, -1];
  for (let y = 0; y < height; y += 1) for (let x = 0; x < Math.min(width, limit); x += 1) {
    const at = 4 * (y * width + x);
    if (Math.abs(data[at] - r) + Math.abs(data[at + 1] - g) + Math.abs(data[at + 2] - b) > 24) continue;
    found[0] = Math.min(found[0], x); found[1] = Math.min(found[1], y);
    found[2] = Math.max(found[2], x); found[3] = Math.max(found[3], y);
  }
  return found;
}"""


def one(made: Strand) -> Scene:
    return Scene("a model", ("a text",), (made,))


def canvas(shown: Page) -> Any:
    return shown.locator(".attlas-stage canvas").first


def point(shown: Page, x: float, y: float) -> str:
    """Move the mouse to a place on the canvas; what is said then."""
    box = canvas(shown).bounding_box()
    shown.mouse.move(box["x"] + x, box["y"] + y)
    shown.evaluate(SETTLE)
    return shown.locator(".attlas-readout").inner_text()


def cell(said: str) -> tuple[str, str, float]:
    """Query, key and value of a readout."""
    found = re.match(r"(\S+) → (\S+) ≈?([−.\de]+) \(", said)
    assert found, said
    return found[1], found[2], float(found[3].replace("−", "-"))


def address(shown: Page) -> dict[str, str]:
    """The selection in the address, after the moment that it takes to get there."""
    shown.evaluate(SETTLE)
    shown.evaluate("() => new Promise((done) => setTimeout(done, 100))")  # the page's own clock, however busy it is
    fragment = str(shown.evaluate("location.hash"))[1:]
    return {name: values[0] for name, values in parse_qs(fragment, keep_blank_values=True).items()}


def box_of(shown: Page) -> list[float]:
    return [float(edge) for edge in address(shown)["box"].split(",")]


def colour_of(value: float, top: float) -> NDArray[np.float64]:
    """Colour of a weight: the ramp over the square root of its share of the top."""
    along = np.sqrt(min(1.0, value / top)) * (len(STOPS) - 1)
    low = min(len(STOPS) - 2, int(along))
    return np.asarray(STOPS[low] + (along - low) * (STOPS[low + 1] - STOPS[low]))


def top_of(values: NDArray[np.float32]) -> float:
    ordered = np.sort(values.ravel())
    return float(ordered[min(ordered.size - 1, int(0.999 * ordered.size))])


def places(shown: Page) -> list[tuple[int, int]]:
    """Points inside cells: the pixels around each have its colour."""
    points = [(x, y) for y in range(130, 560, 37) for x in range(90, 1050, 61)]
    around = [[(x + dx, y + dy) for dx, dy in ((0, 0), (-2, 0), (2, 0), (0, -2), (0, 2))] for x, y in points]
    colours = canvas(shown).evaluate(PIXEL, [each for some in around for each in some])
    inside = [len({tuple(c) for c in colours[5 * at : 5 * at + 5]}) == 1 for at in range(len(points))]
    return [each for each, good in zip(points, inside, strict=True) if good]


def told(shown: Page, points: list[tuple[int, int]]) -> list[str]:
    """What is said at each of many places; at some of them the mouse itself is asked too."""
    said = sweep(shown, points)
    assert [point(shown, *place) for place in points[::9]] == said[::9]
    return said


def test_colours_and_numbers_are_those_of_the_cell_under_the_pointer(open_page: Callable[..., Page]) -> None:
    made = strand(queries=FORTY, vectors=False)
    shown = open_page(page([one(made)], kind="matrix", layer=1, heads=[2]))
    weights = made.weights[1, 2]
    points = places(shown)
    colours = canvas(shown).evaluate(PIXEL, points)
    seen = set()
    for said, colour in zip(told(shown, points), colours, strict=True):
        if "→" not in said:
            continue
        query, key, value = cell(said)
        expected = float(weights[int(query[1:]), int(key[1:])])
        assert value == pytest.approx(expected, rel=0.006)
        assert np.abs(np.array(colour) - colour_of(expected, top_of(weights))).max() <= 3, said
        assert said.endswith("(head 2-3)")
        seen.add((query, key))
    assert len(seen) > 60


def test_rows_are_queries_and_columns_are_keys(open_page: Callable[..., Page]) -> None:
    made = strand(queries=FORTY, vectors=False)
    shown = open_page(page([one(made)], kind="matrix"))
    first = cell(point(shown, 200, 200))
    below = cell(point(shown, 200, 400))
    beside = cell(point(shown, 400, 200))
    assert first[1] == below[1]
    assert int(below[0][1:]) > int(first[0][1:])
    assert first[0] == beside[0]
    assert int(beside[1][1:]) > int(first[1][1:])
    mean = made.weights[0].mean(0)
    assert beside[2] == pytest.approx(float(mean[int(beside[0][1:]), int(beside[1][1:])]), rel=0.006)
    assert "mean of 4 heads, layer 1" in shown.locator(".attlas-readout").inner_text()
    said = point(shown, 5, 400)
    row = int(below[0][1:])
    strongest = [f"w{key}" for key in np.argsort(-mean[row])[:3]]
    assert re.findall(r"(w\d+) [.\d]", said)[:3] == strongest


def test_a_causal_map_tells_what_is_not_read_from_zero(open_page: Callable[..., Page]) -> None:
    made = strand(Stream.DECODER, queries=FORTY, vectors=False)
    shown = open_page(page([one(made)], kind="matrix", heads=[0]))
    points = places(shown)
    colours = canvas(shown).evaluate(PIXEL, points)
    unread = 0
    for said, colour in zip(told(shown, points), colours, strict=True):
        if "→" not in said:
            continue
        query, key = (int(word) for word in re.match(r"w(\d+) → w(\d+)", said).groups())  # type: ignore[union-attr]
        assert (tuple(colour) == MASKED) == (key > query), said
        assert ("not read yet" in said) == (key > query)
        unread += key > query
    assert unread > 20


def test_the_wheel_zooms_at_the_pointer_and_out_again(open_page: Callable[..., Page]) -> None:
    shown = open_page(page([one(strand(queries=FORTY, vectors=False))], kind="matrix"))
    before = point(shown, 300, 250)
    for _ in range(4):
        shown.mouse.wheel(0, -120)
    shown.evaluate(SETTLE)
    left, top, right, bottom = box_of(shown)
    for side in (right - left, bottom - top):
        assert side == pytest.approx(np.exp(-4 * 120 * 0.0022), abs=1e-5)
    point(shown, 302, 252)
    assert cell(point(shown, 300, 250)) == cell(before)
    query, key, _ = cell(before)
    assert left < (int(key[1:]) + 0.5) / 40 < right
    assert top < (int(query[1:]) + 0.5) / 40 < bottom
    for _ in range(8):
        shown.mouse.wheel(0, 200)
    shown.evaluate(SETTLE)
    assert "box" not in address(shown)


def test_dragging_moves_what_is_under_the_pointer_and_locks_nothing(open_page: Callable[..., Page]) -> None:
    shown = open_page(page([one(strand(queries=FORTY, vectors=False))], kind="matrix"), "box=.3,.3,.7,.7")
    before = point(shown, 300, 250)
    shown.mouse.down()
    for step in range(1, 11):
        point(shown, 300 + 8 * step, 250 + 5 * step)
    shown.mouse.up()
    moved = box_of(shown)
    assert moved[0] < 0.3
    assert moved[1] < 0.3
    assert moved[2] - moved[0] == pytest.approx(0.4, abs=1e-5)
    point(shown, 381, 301)
    assert point(shown, 380, 300) == before
    assert not {"query", "key"} & set(address(shown))


def test_keys_zoom_move_and_keep_their_common_meaning(open_page: Callable[..., Page]) -> None:
    shown = open_page(page([one(strand(queries=FORTY, vectors=False))], kind="matrix"))
    shown.keyboard.press("+")
    assert box_of(shown) == pytest.approx([0.15, 0.15, 0.85, 0.85])
    shown.keyboard.press("Shift+ArrowRight")
    assert box_of(shown) == pytest.approx([0.2375, 0.15, 0.9375, 0.85])
    shown.keyboard.press("Shift+ArrowUp")
    assert box_of(shown) == pytest.approx([0.2375, 0.0625, 0.9375, 0.7625])
    shown.keyboard.press("Shift+ArrowUp")
    assert box_of(shown)[1] == 0
    shown.keyboard.press("ArrowRight")
    assert address(shown)["layer"] == "1"
    shown.keyboard.press("-")
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("ArrowDown")
    assert "box" not in address(shown)
    assert address(shown)["query"] == "1"
    shown.keyboard.press("+")
    shown.keyboard.press("0")
    assert "box" not in address(shown)


def test_arrows_take_the_map_along(open_page: Callable[..., Page]) -> None:
    shown = open_page(page([one(strand(queries=FORTY, vectors=False))], kind="matrix"), "box=0,0,.25,.25&query=9")
    shown.keyboard.press("ArrowDown")
    assert address(shown)["query"] == "10"
    assert box_of(shown) == pytest.approx([0, 10.5 / 40 - 0.125, 0.25, 10.5 / 40 + 0.125], abs=1e-5)


def test_a_click_keeps_a_cell_by_its_pieces_and_lets_it_go(open_page: Callable[..., Page]) -> None:
    made = scene()
    shown = open_page(page([made], kind="matrix", unit="word", heads=[1]))
    points = [(x, y) for y in range(100, 600, 9) for x in (130, 190, 250)]
    x, y = points[len(sweep(shown, points, until="played → ")) - 1]
    target = (x, y + 9)  # well within the row, for clicks come at whole pixels
    assert point(shown, *target).startswith("played → ")
    query, key, _ = cell(point(shown, *target))
    shown.mouse.down()
    shown.mouse.up()
    pieces = {"[CLS]": 0, "The": 1, "farmer": 2, "played": 3, ".": 5, "She": 7, "slept": 8}
    assert (address(shown)["query"], address(shown)["key"]) == ("3", str(pieces[key]))
    assert query == "played"

    rows = shown.locator(".attlas-table tbody tr")
    table = {tuple(rows.nth(at).locator("td").all_inner_texts()) for at in range(rows.count())}
    weights = made.strands[0].weights[0, 1][3:5].mean(0)
    expected = {"The": weights[1], "played": weights[3] + weights[4], "slept": weights[8]}
    for word, value in expected.items():
        written = next(float(cells[1].replace("−", "-")) for cells in table if cells[0] == word)
        assert written == pytest.approx(float(value), rel=0.006)

    shown.mouse.down()
    shown.mouse.up()
    assert not {"query", "key"} & set(address(shown))
    strongest = [rows.nth(at).locator("td").all_inner_texts()[:2] for at in range(rows.count())]
    words = ["[CLS]", "The", "farmer", "played", ".", "[SEP]", "She", "slept", "[SEP]"]
    merged = np.add.reduceat(made.strands[0].weights[0, 1], [0, 1, 2, 3, 5, 6, 7, 8, 9], axis=1)
    assert strongest[2] == ["farmer", words[int(merged[2].argmax())]]
    assert strongest[6] == ["She", words[int(merged[7].argmax())]]


def test_a_double_click_shows_the_whole(open_page: Callable[..., Page]) -> None:
    shown = open_page(page([one(strand(queries=FORTY, vectors=False))], kind="matrix"), "box=.3,.3,.7,.7")
    point(shown, 300, 250)
    box = canvas(shown).bounding_box()
    shown.mouse.dblclick(box["x"] + 300, box["y"] + 250)
    assert not {"box", "query", "key"} & set(address(shown))


def test_it_is_drawn_also_when_there_is_never_time(open_page: Callable[..., Page]) -> None:
    """On a busy machine the time for painting may be over before the first tile; the coarsest is painted anyway."""
    hurried = "const now = performance.now.bind(performance); let n = 0; performance.now = () => now() + 1e6 * n++;"
    shown = open_page(page([one(strand(queries=FORTY, vectors=False))], kind="matrix"), script=hurried)
    assert shown.locator(".attlas[data-drawn] canvas").count() > 0


def test_the_small_map_frames_the_part_and_moves_it(open_page: Callable[..., Page]) -> None:
    shown = open_page(page([one(strand(queries=FORTY, vectors=False))], kind="matrix"))
    left, top, right, bottom = canvas(shown).evaluate(EXTENT, [*ORANGE, 5000])
    assert right - left == pytest.approx(120, abs=3)
    assert bottom - top == pytest.approx(120, abs=3)
    point(shown, 300, 300)
    for _ in range(4):
        shown.keyboard.press("+")
    point(shown, (left + right) / 2 + 24, (top + bottom) / 2 - 12)
    shown.mouse.down()
    shown.mouse.up()
    box = box_of(shown)
    assert [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2] == pytest.approx([0.7, 0.4], abs=0.03)
    point(shown, 3, 3)
    framed = canvas(shown).evaluate(EXTENT, [*ORANGE, 5000])
    assert [(framed[0] - left) / 120, (framed[1] - top) / 120] == pytest.approx(box[:2], abs=0.03)
    point(shown, (left + right) / 2, (top + bottom) / 2)
    shown.mouse.down()
    point(shown, left + 48, top + 72)
    point(shown, left + 36, top + 84)
    shown.mouse.up()
    box = box_of(shown)
    assert [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2] == pytest.approx([0.3, 0.7], abs=0.03)


def test_pointing_within_the_frame_of_a_key_does_not_take_its_part_back(open_page: Callable[..., Page]) -> None:
    """A key, and a pointer that moves before the next frame: what is pointed at is a cell of the part shown."""
    shown = open_page(page([one(strand(queries=FORTY, vectors=False))], kind="matrix"))
    whole = point(shown, 150, 150)
    canvas(shown).evaluate(
        """(canvas) => {
      canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "+", bubbles: true }));
      const { left, top } = canvas.getBoundingClientRect();
      canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: left + 3, clientY: top + 3, bubbles: true }));
    }"""
    )
    shown.evaluate(SETTLE)
    assert cell(point(shown, 150, 150))[:2] != cell(whole)[:2]


def dark_extent(shown: Page) -> list[int]:
    """The box around all dark pixels of the map, which ends before the small one."""
    aside = canvas(shown).evaluate(EXTENT, [*ORANGE, 5000])[0]
    return list(canvas(shown).evaluate(EXTENT, [*STOPS[-1], aside - 6]))


def diagonal(length: int, heads: int = 1) -> Strand:
    """A faint plain with a diagonal one piece wide; the heads differ in how strong it is."""
    draw = np.random.default_rng(5)
    weights = draw.uniform(0, 2e-5, (1, heads, length, length)).astype(np.float32)
    for head in range(heads):
        np.fill_diagonal(weights[0, head], draw.uniform(0.8, 0.9, length) / (head + 1))
    text = Sequence(
        tuple(f"w{at}" for at in range(length)),
        tuple(range(length)),
        (0,) * length,
        tuple(f"w{at}" for at in range(length)),
    )
    return Strand(Stream.ENCODER, text, text, weights)


def test_a_text_too_long_for_lines_opens_as_a_matrix_and_a_thin_line_stays_visible(
    open_page: Callable[..., Page],
) -> None:
    made = diagonal(600)
    shown = open_page(page([one(made)], kind="head"))
    notice = shown.locator(".attlas-notice").inner_text()
    assert "This text has 600 pieces" in notice
    assert "opens as a matrix" in notice
    assert "each dot is the largest of its cells" in shown.locator(".attlas-hint").inner_text()
    assert shown.locator('button[data-view="matrix"]').get_attribute("aria-pressed") == "true"

    left, top, right, bottom = dark_extent(shown)
    wide, high = right - left + 1, bottom - top + 1
    assert wide > 900, "it is as wide as the window"
    assert high > 380
    along = [(left + int(at * wide / high) + by, top + at) for at in range(2, high - 2) for by in range(-2, 3)]
    line = np.array(canvas(shown).evaluate(PIXEL, along)).reshape(-1, 5, 3)
    assert np.abs(line - STOPS[-1]).max(2).min(1).max() < 30

    query, key, value = cell(point(shown, left + wide * 300.5 / 600, top + high * 300.5 / 600))
    assert query == key
    assert abs(int(key[1:]) - 300) <= 3
    assert value == pytest.approx(float(made.weights[0, 0, int(key[1:]), int(key[1:])]), rel=0.006)


def test_of_a_long_text_one_head_is_shown_until_more_are_asked_for(open_page: Callable[..., Page]) -> None:
    made = diagonal(1500, heads=2)
    shown = open_page(page([one(made)], kind="matrix"))

    def pressed() -> list[str | None]:
        return [chip.get_attribute("aria-pressed") for chip in shown.locator("[data-head]").all()]

    shown.locator(".attlas-table tbody tr").first.wait_for(state="attached", timeout=20_000)
    assert "Head 1-1 is shown alone" in shown.locator(".attlas-notice").inner_text()
    assert pressed() == ["true", "false"]
    left, top, right, bottom = dark_extent(shown)

    said = point(shown, (left + right) / 2, (top + bottom) / 2)
    query, key, value = cell(said)
    assert query == key
    assert "≈" in said
    assert said.endswith("(head 1-1)")
    at = int(query[1:])
    assert value == pytest.approx(float(made.weights[0, 0, at, at]), rel=0.006)

    shown.locator('[data-heads="all"]').click()
    assert pressed() == ["true", "true"]
    assert address(shown)["heads"] == "0,1"
    assert "alone" not in shown.locator(".attlas-notice").inner_text()
    for _ in range(100):
        left, top, right, bottom = dark_extent(shown)  # a line less above it, and the map is higher
        said = point(shown, (left + right) / 2 + 1, (top + bottom) / 2)
        said = point(shown, (left + right) / 2, (top + bottom) / 2)
        if "mean of 2 heads" in said:
            break
    query, key, value = cell(said)
    assert value == pytest.approx(float(made.weights[0, :, int(query[1:]), int(key[1:])].mean()), rel=0.006)


def test_a_difference_has_signs(open_page: Callable[..., Page]) -> None:
    a = Scene("a", ("a",), (strand(queries=FORTY, vectors=False, seed=1),))
    b = Scene("b", ("a",), (strand(queries=FORTY, vectors=False, seed=2),))
    shown = open_page(page([a, b], kind="matrix", show="difference", heads=[3]))
    expected = a.strands[0].weights[0, 3] - b.strands[0].weights[0, 3]
    signs = set()
    points = places(shown)[::3]
    colours = canvas(shown).evaluate(PIXEL, points)
    for said, (red, _, blue) in zip(told(shown, points), colours, strict=True):
        if "→" not in said:
            continue
        query, key, value = cell(said)
        true = float(expected[int(query[1:]), int(key[1:])])
        assert value == pytest.approx(true, rel=0.006, abs=1e-7)
        if abs(true) > 0.01:
            assert (blue > red) == (true > 0)
            signs.add(true > 0)
    assert signs == {True, False}


def test_source_and_target_may_differ_in_length_and_script(open_page: Callable[..., Page]) -> None:
    target = reading(("שלום", "العربية", "👩‍👩‍👧", "語"))
    made = strand(Stream.CROSS, target, FORTY, vectors=False)
    shown = open_page(page([one(made)], kind="matrix", stream="cross", heads=[0]))
    said = point(shown, 400, place_of(shown, "العربية")[1])
    assert said.startswith("العربية → ")
    _, key, value = cell(said)
    assert value == pytest.approx(float(made.weights[0, 0, 1, int(key[1:])]), rel=0.006)


def test_a_senseless_part_is_the_whole(open_page: Callable[..., Page]) -> None:
    html = page([one(strand(queries=FORTY, vectors=False))], kind="matrix")
    shown = open_page(html)
    whole = canvas(shown).evaluate("(c) => c.toDataURL()")
    for fragment in ("box=.5,.5,.5,.9", "box=0,0,7,7", "box=.2", "box=.9,.9,.1,.1"):
        shown = open_page(html, fragment, instead=shown)
        assert canvas(shown).evaluate("(c) => c.toDataURL()") == whole, fragment
    shown = open_page(html, "box=.1,.1,.5,.5", instead=shown)
    assert canvas(shown).evaluate("(c) => c.toDataURL()") != whole, "a part is another"


def test_no_head_and_the_dark_theme(open_page: Callable[..., Page]) -> None:
    made = strand(queries=FORTY, vectors=False)
    shown = open_page(page([one(made)], kind="matrix", theme="dark"), "heads=1")
    dark = canvas(shown).evaluate(PIXEL, [(300, 300)])[0]
    shown.locator('[data-action="theme"]').click()
    shown.evaluate(SETTLE)
    light = canvas(shown).evaluate(PIXEL, [(300, 300)])[0]
    query, key, _ = cell(point(shown, 300, 300))
    weights = made.weights[0, 1]
    expected = colour_of(float(weights[int(query[1:]), int(key[1:])]), top_of(weights))
    assert np.abs(np.array(light) - expected).max() <= 3
    assert dark != light
    shown.locator('[data-heads="none"]').click()
    shown.evaluate(SETTLE)
    assert shown.locator(".attlas-readout").inner_text() == "No head is chosen."


def test_the_picture_is_saved_with_its_words(open_page: Callable[..., Page], tmp_path: Path) -> None:
    shown = open_page(page([one(strand(queries=FORTY, vectors=False))], kind="matrix"), "box=.25,.25,.5,.5")
    with shown.expect_download() as saved:
        shown.locator('[data-action="svg"]').click()
    saved.value.save_as(tmp_path / "map.svg")
    svg = (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert svg.count("<image ") == 2
    assert "data:image/png;base64," in svg
    words = set(re.findall(r">(w\d+)</text>", svg))
    assert {f"w{at}" for at in range(10, 20)} <= words
    assert "w25" not in words
    with shown.expect_download() as saved:
        shown.locator('[data-action="png"]').click()
    saved.value.save_as(tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
