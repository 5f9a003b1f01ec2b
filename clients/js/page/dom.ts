// Elements without markup in texts: every text is a text node, so nothing that a campaign says can become an element.

export type Child = Node | string | null | undefined | false;
type Properties = Readonly<Record<string, string | number | boolean | undefined | ((event: Event) => void)>>;

/** An element. A property that is a function listens; `true` sets an attribute without a value; what is undefined or false is left out. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, properties: Properties = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), properties, children);
}

function fill<E extends Element>(element: E, properties: Properties, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => !!child));
  return element;
}

let n = 0;
/** An id that nothing else on the page has. */
export const freshId = (): string => `e${++n}`;
