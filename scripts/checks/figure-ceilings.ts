/** The most that each figure of check `figures` may be. Lower a ceiling when its figure falls; it never rises. */
export const ceilings: Readonly<Record<string, number>> = {
  "house in identifiers": 29,
  "house in comments": 452,
  "house in messages": 312,
  "house in docs": 131,
  "corridor in identifiers": 1,
  "corridor in comments": 19,
  "corridor in messages": 5,
  "corridor in docs": 2,
  "door in identifiers": 245,
  "door in comments": 81,
  "door in messages": 33,
  "door in docs": 12,
  "room in identifiers": 6,
  "room in comments": 63,
  "room in messages": 29,
  "room in docs": 3,
  "asker in comments": 12,
  "asker in messages": 3,
  "hop in identifiers": 361,
  "hop in comments": 27,
  "hop in messages": 23,
  "foretell in identifiers": 2,
  "desk in messages": 3,
  "desk in docs": 1,
  "ruling in identifiers": 29,
  "ruling in comments": 1,
  "teller in identifiers": 5,
  "heard in comments": 29,
  "heard in messages": 10,
  "heard in docs": 3,
  "told in identifiers": 27,
  "told in comments": 261,
  "told in messages": 150,
  "told in docs": 28,
  "MOST_, LONGEST_ and LEAST_ in identifiers": 16,
  "sibling folders that import each other": 35,
  "folders and module roots that import each other": 49,
  "types named *Parts or *Options": 192,
  "functions with four or more parameters": 391,
  "lines of docs over 120 columns": 694,
  "cells of docs over 120 characters": 51,
  "longest cell of docs": 488,
};

/** Nouns that have a standard word in the glossary of CONTRIBUTING.md, with the forms that are counted. */
export const privateWords: Readonly<Record<string, RegExp>> = {
  house: /^houses?$/,
  corridor: /^corridors?$/,
  door: /^doors?$/,
  room: /^rooms?$/,
  apartment: /^apartments?$/,
  asker: /^askers?$/,
  hop: /^hops?$/,
  foretell: /^foretells?$|^foretold$/,
  desk: /^desks?$/,
  ruling: /^rulings?$/,
  teller: /^tellers?$/,
  heard: /^heard$/,
  told: /^told$/,
};

/** In names alone: a constant that states a maximum begins with `MAX_`, a minimum with `MIN_`. */
export const extremes = /^(?:most|longest|least)$/;

/** What contains a counted word and stays. The reason stands beside it. */
export const allowed: readonly (readonly [text: RegExp, reason: string])[] = [
  [/hop[-_ ]?by[-_ ]?hop/gi, "RFC 9110's term"],
  [/\bmulti[-_ ]?hop\b/gi, "a term of graphs and proxies"],
  [/\bhouse_key\b/g, "a table of an applied migration"],
  [/\bmax_hops\b/g, "a member of the contract"],
  [/\bhas_room\b/g, "a column of an applied migration"],
];
