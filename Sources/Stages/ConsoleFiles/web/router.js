// Finds the page for an address: the part after #, such as #/sends/r-17?at=5.

/** Converts `/groups/{id}` to an expression that captures `id`. */
function rule(pattern) {
  const names = [];
  const text = pattern.replace(/\{(\w+)\}/g, (_, name) => { names.push(name); return "([^/]+)"; });
  return { expression: new RegExp(`^${text}$`), names };
}

export class Router {
  #rules = [];

  add(pattern, page) { this.#rules.push({ ...rule(pattern), page }); }

  /** Returns the page of an address, its parameters and its query. */
  find(hash) {
    const [path, search = ""] = hash.replace(/^#/, "").split("?");
    for (const { expression, names, page } of this.#rules) {
      const found = expression.exec(path || "/");
      if (!found) continue;
      const parameters = {};
      try {
        names.forEach((name, index) => { parameters[name] = decodeURIComponent(found[index + 1]); });
      } catch { return null; }
      return { page, path, parameters, asked: new URLSearchParams(search) };
    }
    return null;
  }
}

/** An address of the console with encoded parts: `to("groups", id)`. */
export const to = (...parts) => "#/" + parts.map(encodeURIComponent).join("/");

/** An address of the console with a query. */
export const toAsking = (fields, ...parts) => {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "");
  return to(...parts) + (given.length ? "?" + new URLSearchParams(given) : "");
};

/** Puts a query into the current address without a new step in the history. */
export function ask(fields) {
  const [path] = location.hash.split("?");
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "" && value !== null);
  history.replaceState(null, "", path + (given.length ? "?" + new URLSearchParams(given) : ""));
}
