// Updates the page to match newly built elements. Equal elements stay untouched, so focus, selection and
// scroll position survive while numbers change.

const handlers = ["onclick", "onchange", "oninput", "onsubmit", "onkeydown"];

function isAlike(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName
    && (a.nodeType !== Node.ELEMENT_NODE || a.getAttribute("data-key") === b.getAttribute("data-key"));
}

function patchAttributes(old, fresh) {
  for (const { name } of [...old.attributes]) {
    // The reader opened it, so it stays open.
    if (name === "open" && old.nodeName === "DETAILS") continue;
    if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const name of handlers) if (old[name] !== fresh[name]) old[name] = fresh[name];
  if (old.type === "checkbox" && old.checked !== fresh.checked) old.checked = fresh.checked;
}

function patchChildren(old, fresh) {
  let at = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    if (at && isAlike(at, next)) {
      const known = at;
      at = at.nextSibling;
      patchNode(known, next);
    } else {
      old.insertBefore(next, at);
      if (at && next.nodeType === Node.ELEMENT_NODE && !next.hasAttribute("data-key")) {
        const gone = at;
        at = at.nextSibling;
        gone.remove();
      }
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

function patchNode(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  patchAttributes(old, fresh);
  patchChildren(old, fresh);
}

/** Shows `children` in `element`. */
export function show(element, ...children) {
  const fresh = document.createElement(element.nodeName);
  for (const child of children.flat(9)) {
    if (child === undefined || child === null || child === false) continue;
    fresh.append(child);
  }
  patchChildren(element, fresh);
}
