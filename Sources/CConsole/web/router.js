// Which page the address names: what stands behind #, such as #/sends/r-17?at=5.

/** `/groups/{id}` becomes a rule that finds `id`. */
function rule(pattern) {
  const names = [];
  const text = pattern.replace(/\{(\w+)\}/g, (_, name) => { names.push(name); return "([^/]+)"; });
  return { expression: new RegExp(`^${text}$`), names };
}

export class Router {
  #rules = [];

  add(pattern, page) { this.#rules.push({ ...rule(pattern), page }); }

  /** The page of the address, its parameters and what was asked of it. */
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

/** An address of the console with its parts made safe: `to("groups", id)`. */
export const to = (...parts) => "#/" + parts.map(encodeURIComponent).join("/");

/** The same with something asked. */
export const toAsking = (fields, ...parts) => {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "");
  return to(...parts) + (given.length ? "?" + new URLSearchParams(given) : "");
};

/** Puts what is asked into the address, without a new step in the history. */
export function ask(fields) {
  const [path] = location.hash.split("?");
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "" && value !== null);
  history.replaceState(null, "", path + (given.length ? "?" + new URLSearchParams(given) : ""));
}
