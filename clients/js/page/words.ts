// The page's own words. Everything else that people read is the campaign's.

import { english } from "./english";
import { german } from "./german";

export type Words = typeof english;

const all: Readonly<Record<string, Words>> = { en: english, de: german };
export const isOurs = (language: string): boolean => language in all;
export const wordsIn = (language: string): Words => all[language] ?? english;
