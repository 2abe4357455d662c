/** Elements made of text and attributes; no string is ever parsed as markup. */

export type Child = Node | string | null | undefined | false;

type Attributes = Record<string, string | boolean | EventListener | undefined>;

/** Creates an element. Attributes that are functions are listeners (`onclick`); booleans are set or left out. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (typeof value === 'string') element.setAttribute(name, value);
  }
  append(element, ...children);
  return element;
}

export function append(parent: Element, ...children: Child[]): void {
  for (const child of children) if (child || child === '') parent.append(child);
}

/** A name for an anchor or a file: ASCII letters, digits and dashes. */
export function slug(text: string): string {
  return (
    text
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 60) || 'figure'
  );
}

/** Lets the browser save a text as a file. */
export function save(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = el('a', { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  // The browser has copied it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
