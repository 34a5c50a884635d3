// Finding heads by words. Words lead to groups of sentences, which lie by strength on shelves, and to single sentences;
// the answer is in the order of strength: first the sentences that say what is asked for, then those whose role may be
// asked for so, and last those about heads alike and about heads of which there is nothing to say.

import { load } from "./store.js";
import { openPortraits } from "./models.js";

const AT_ONCE = 6; // shelves that are read at once
const LAST = 100; // behind all that is about a head itself

/** The words of a question, in small letters; numbers and frequent words are passed over, unless there are no others. */
export function wordsOf(question, passed) {
  const words = [...new Set((question.toLowerCase().match(/[\p{L}_][\p{L}\p{N}_]*(?:['’][\p{L}\p{N}_]+)?/gu) ?? []))];
  const telling = words.filter((word) => !passed.has(word));
  return telling.length ? telling : words;
}

/** Whether a word that stands there answers to one that is asked for: the same, its plural, or its beginning. */
export function answers(standing, asked) {
  if (standing === asked) return true;
  if (asked.length >= 3 && standing.startsWith(asked)) return true;
  return asked.length >= 4 && asked.endsWith("s") && standing === asked.slice(0, -1);
}

/**
 * The heads that answer to a question, strongest first: { found: [{ model, head, strength, sentence, group }], whole,
 * figures, words }. `most` is how many are wanted, `only` one model or null. `whole` tells whether these are all.
 */
export async function findHeads(index, question, { most = 40, only = null } = {}) {
  const search = await load("search/index");
  search.passedSet ??= new Set(search.passed);
  const words = wordsOf(question, search.passedSet);
  if (!words.length) return { found: [], whole: true, figures: [], words };
  const says = (standing, word) => standing.some((one) => answers(one, word));
  const told = search.groups.map((group) => ({
    said: words.filter((word) => says(group.words, word)), meant: words.filter((word) => says(group.terms, word)),
    last: ["alike", "none"].includes(search.parts[group.part]) ? LAST : 0,
  }));
  const single = only ? [] : await singleWords(search, words);
  const figures = search.figures.filter((figure) => words.every((word) => says(figure.words, word) || figure.words.some((short) => short.length > 2 && word.startsWith(short))) && (only === null || figure.models.includes(only.number)));
  const found = only ? await inModel(search, only, words, told) : await inAll(search, single, words, told, most);
  const seen = new Set();
  found.list.sort((a, b) => a.missing - b.missing || a.place - b.place || b.strength - a.strength || a.model - b.model || a.head - b.head);
  const least = found.list[0]?.missing ?? 0;
  const heads = found.list.filter((one) => one.missing === least && !seen.has(`${one.model}/${one.head}`) && seen.add(`${one.model}/${one.head}`));
  return { found: heads.slice(0, most), whole: found.whole && heads.length <= most, figures, words, missing: least };
}

/** Sentences that have words which their groups have not: for each word the sentences, by group. */
async function singleWords(search, words) {
  return Promise.all(words.map(async (word) => {
    const pages = search.pages.map((first, number) => ({ first, number, next: search.pages[number + 1] }))
      .filter(({ first, next }) => (next === undefined || next > word) && first <= `${word}\uffff`).slice(0, 3);
    const read = await Promise.all(pages.map(({ number }) => load(`search/page-${number}`)));
    return read.flatMap(({ sentences, words: listed }) => listed.filter(([standing]) => answers(standing, word)).flatMap(([, , rows]) => rows.map((row) => sentences[row])));
  }));
}

/** How well a sentence answers: words that are missing, and how far behind others it stands. */
function ranked(words, { said, meant, last }, own = []) {
  const has = new Set([...said, ...own]);
  const only = meant.filter((word) => !has.has(word));
  return { missing: words.length - has.size - only.length, place: last + only.length };
}

async function inAll(search, single, words, told, most) {
  const named = new Map();
  single.forEach((sentences, at) => {
    for (const [model, head, strength, sentence, group] of sentences) {
      const key = `${model}/${head}/${sentence}`;
      const one = named.get(key) ?? { model, head, strength, sentence, group, own: [] };
      one.own.push(words[at]);
      named.set(key, one);
    }
  });
  const list = [...named.values()].map(({ own, ...one }) => ({ ...one, ...ranked(words, told[one.group], own) }));
  const ranks = told.map((group) => ranked(words, group));
  const least = Math.min(...[...ranks, ...list].map(({ missing }) => missing));
  if (least >= words.length) return { list: [], whole: true };
  /* Shelves by what they can give at best; no more are read once enough has been found that is stronger. */
  const shelves = search.groups.flatMap((group, number) => (ranks[number].missing > least ? []
    : group.lying.map(([shelf, from, count, strength]) => ({ ...ranks[number], group: number, shelf, from, count, strength }))))
    .sort((a, b) => a.place - b.place || b.strength - a.strength);
  let at = 0;
  for (; at < shelves.length; at += AT_ONCE) {
    const before = ({ missing, place, strength }) => missing === least && (place < shelves[at].place || (place === shelves[at].place && strength >= shelves[at].strength));
    if (new Set(list.filter(before).map((one) => `${one.model}/${one.head}`)).size >= most) break;
    const part = shelves.slice(at, at + AT_ONCE);
    const read = await Promise.all(part.map(({ shelf }) => load(`search/shelf-${shelf}`)));
    part.forEach(({ from, count, group, missing, place }, own) => {
      for (const [model, head, strength, sentence] of read[own].slice(from, from + count)) list.push({ model, head, strength, sentence, group, missing, place });
    });
  }
  return { list, whole: at >= shelves.length };
}

/** The same among the sentences of one model, all of which are read. */
async function inModel(search, model, words, told) {
  search.numbers ??= new Map(search.groups.map((group, number) => [[group.study, group.quantity, search.parts[group.part], group.role].join("\n"), number]));
  const list = [];
  for (const one of await openPortraits(model)) {
    const group = search.numbers.get([one.study, one.quantity, one.part, one.role].join("\n"));
    const standing = wordsOf(one.sentence, search.passedSet);
    const rank = ranked(words, told[group], words.filter((word) => standing.some((own) => answers(own, word))));
    if (rank.missing < words.length) list.push({ model: model.number, head: one.head, strength: one.strength, sentence: one.sentence, group, ...rank });
  }
  return { list, whole: true };
}
