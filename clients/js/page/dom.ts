// Elements without markup in texts: every text is a text node, so nothing that a campaign says can
// become an element.

export type Child = Node | string | null | undefined | false | "" | 0;
type Value = string | number | boolean | undefined | ((event: Event) => void);
type Properties = Readonly<Record<string, Value>>;

/**
 * An element. A property that is a function listens; `true` sets an attribute without a value; what
 * is undefined or false is left out.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.filter((child): child is Node | string => !!child));
  return element;
}

export const paragraph = (text: string, kind?: string): HTMLElement =>
  h("p", { class: kind }, text);

export const alerting = (text: string): HTMLElement =>
  h("p", { class: "alert", role: "alert" }, text);

export function button(text: string, kind: string, click: () => unknown): HTMLButtonElement {
  return h("button", { type: "button", class: kind, click: () => void click() }, text);
}

let n = 0;
/** An id that nothing else on the page has. */
export const freshId = (): string => `e${++n}`;
