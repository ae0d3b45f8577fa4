// @ts-check
// Building the page from nodes. Whatever a server says goes in as text: never as HTML, never as an attribute that runs.

/**
 * @param {string} name
 * @param {Record<string, string>} attributes
 * @param {...(Node | string)} children
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/**
 * @param {Element} parent
 * @param {...(Node | string)} children
 */
export function replace(parent, ...children) {
  // The same nodes stay where they are, and the focus in them.
  const same =
    children.length === parent.childNodes.length && children.every((one, at) => one === parent.childNodes[at]);
  if (!same) parent.replaceChildren(...children);
}
