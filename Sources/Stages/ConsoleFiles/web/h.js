// Creates elements. All data becomes text nodes, so markup in a name stays text.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element[name] = value;
    else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child instanceof Node ? child : document.createTextNode(child));
  }
}

function make(create, name, rest) {
  const [tag, ...classes] = name.split(".");
  const hasAttributes =
    rest[0] && typeof rest[0] === "object" && !(rest[0] instanceof Node) && !Array.isArray(rest[0]);
  const attributes = hasAttributes ? rest[0] : {};
  const element = create(tag);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  return fill(element, attributes, hasAttributes ? rest.slice(1) : rest);
}

/** Creates an HTML element: `h("p.note", {title: "…"}, "text", child…)`. */
export const h = (name, ...rest) => make((tag) => document.createElement(tag), name, rest);

/** Creates an SVG element. */
export const s = (name, ...rest) => make((tag) => document.createElementNS(SVG, tag), name, rest);
