// Creates elements in one expression. Text becomes text nodes and nothing is parsed as HTML, so
// text from a chain stays text. Positions are set through the CSSOM, which the content security
// policy allows.

export type Child = Node | string | number | false | null | undefined;
type Attribute = string | number | boolean | null | undefined | ((event: never) => void);
export type Attributes = Record<string, Attribute>;

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element: `on…` attributes are listeners, `true` is an empty attribute, `false` none */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Child | Child[])[]
): HTMLElementTagNameMap[Tag] {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element, with attributes as in `h` */
export function s<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Child | Child[])[]
): SVGElementTagNameMap[Tag] {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill<E extends Element>(element: E, attributes: Attributes, children: (Child | Child[])[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), value as (event: Event) => void);
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, ...children);
  return element;
}

/** Appends the children that are not empty */
export function append(element: Element, ...children: (Child | Child[])[]): void {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(typeof child === "number" ? String(child) : child);
  }
}

/** Replaces all children */
export function replace(element: Element, ...children: (Child | Child[])[]): void {
  element.replaceChildren();
  append(element, ...children);
}

/** Sets position and size of an element within its positioned parent, in pixels */
export function setBox(element: HTMLElement, box: { x: number; y: number; width?: number; height?: number }): void {
  element.style.left = `${box.x}px`;
  element.style.top = `${box.y}px`;
  if (box.width !== undefined) element.style.width = `${box.width}px`;
  if (box.height !== undefined) element.style.height = `${box.height}px`;
}

/** A button that copies a text and confirms it for a moment */
export function copyButton(name: string, text: () => string): HTMLButtonElement {
  const button = h("button", { type: "button", class: "quiet", "aria-label": `Copy ${name}` }, "Copy");
  button.addEventListener("click", () => {
    const confirm = (word: string) => {
      button.textContent = word;
      setTimeout(() => (button.textContent = "Copy"), 1500);
    };
    // There is no clipboard without TLS, except on localhost.
    const copied = navigator.clipboard?.writeText(text()) ?? Promise.reject(new Error("no clipboard"));
    copied.then(
      () => confirm("Copied"),
      () => confirm("Not allowed"),
    );
  });
  return button;
}
