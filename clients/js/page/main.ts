// Starts the page, or says in one sentence why it does not start.

import { button, h } from "./dom";
import { Page } from "./page";
import { loaded, Unavailable } from "./place";
import { chosenLanguage } from "./wording";
import { wordsIn } from "./words";

async function start(main: HTMLElement): Promise<void> {
  const language = chosenLanguage(navigator.languages, ["en", "de"]);
  const words = wordsIn(language);
  const loading = main.querySelector<HTMLElement>(".loading")!;
  loading.lang = language;
  loading.replaceChildren(words.loading);
  try {
    const page = new Page(main, await loaded());
    addEventListener("online", () => page.online());
    addEventListener("pagehide", () => page.leave());
    addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
    await page.begin();
  } catch (error) {
    const why = error instanceof Unavailable ? error.why : "failed";
    const retry = why === "unreachable" && button(words.retry, "retry", () => start(main));
    const parts = [h("span", { class: "alert" }, words[why]), retry];
    loading.replaceChildren(...parts.filter((part): part is HTMLElement => !!part));
  }
}

void start(document.getElementById("page")!);
