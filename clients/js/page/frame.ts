// What stands around every stage: the page's language, its title, a choice of languages.

import { h, paragraph, type Child } from "./dom";
import { isPreview } from "./place";
import { directionOf, type Wording } from "./wording";

/** Show these parts, and nothing else. The title is the campaign's, whatever was answered. */
export function show(main: HTMLElement, wording: Wording, parts: readonly Child[]): void {
  const root = document.documentElement;
  root.lang = wording.language;
  root.dir = directionOf(wording.language);
  if (wording.theirs.lang) main.lang = wording.own;
  else main.removeAttribute("lang");
  document.title = wording.title;
  const preview = isPreview && paragraph(wording.words.preview, "preview");
  const all = [preview, ...parts];
  main.replaceChildren(...all.filter((part): part is Node => part instanceof Node));
}

/** A choice of language, where there is one. */
export function languageChoice(wording: Wording, chosen: (tag: string) => unknown): Child {
  const { languages, language, words } = wording;
  if (languages.length < 2) return null;
  const named = (tag: string): string =>
    new Intl.DisplayNames([tag], { type: "language" }).of(tag) ?? tag;
  const option = (tag: string): HTMLElement =>
    h("option", { value: tag, lang: tag, selected: tag === language }, named(tag));
  const change = (): unknown => chosen(select.value);
  const select = h("select", { change: () => void change() }, ...languages.map(option));
  return h("label", { class: "languages" }, words.language, " ", select);
}
