/** The most that each figure of check `figures` may be. Lower a ceiling when its figure falls; it never rises. */
export const ceilings: Readonly<Record<string, number>> = {
  "house in messages": 1,
  "door in identifiers": 2,
  "door in comments": 1,
  "room in comments": 26,
  "room in messages": 25,
  "room in docs": 2,
  "foretell in identifiers": 2,
  "desk in messages": 3,
  "ruling in comments": 1,
  "told in identifiers": 13,
  "MOST_, LONGEST_ and LEAST_ in identifiers": 16,
  "sibling folders that import each other": 0,
  "folders and module roots that import each other": 0,
  "types named *Parts or *Options": 171,
  "functions with four or more parameters": 376,
  "lines of docs over 120 columns": 0,
  "cells of docs over 120 characters": 0,
  "longest cell of docs": 120,
};

/** Nouns that have a standard word in the glossary of CONTRIBUTING.md, with the forms that are counted. */
export const privateWords: Readonly<Record<string, RegExp>> = {
  house: /^houses?$/,
  corridor: /^corridors?$/,
  door: /^doors?$/,
  room: /^rooms?$/,
  apartment: /^apartments?$/,
  asker: /^askers?$/,
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
  [/\bhouse_key\b/g, "a table of an applied migration"],
  [/\bhas_room\b/g, "a column of an applied migration"],
];
