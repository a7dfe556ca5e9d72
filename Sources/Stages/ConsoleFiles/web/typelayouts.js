// The layouts of activity types, for pages that show many states. Each type is read once.

import { get, segment } from "./api.js";
import { layoutOf, schemaOfState } from "./layout.js";
import { session } from "./session.js";

const types = new Map();

function typeOf(name) {
  // Another session may belong to another app.
  const key = `${session.app} ${name}`;
  if (!types.has(key)) {
    types.set(key, null);
    get(`/v1/activity-types/${segment(name)}`).then((type) => types.set(key, type), () => types.delete(key));
  }
  return types.get(key);
}

/** Whether each group of a type is known to belong to all its users. False until the type is read. */
export const hasSharedGroups = (typeName) => {
  const type = typeName ? typeOf(typeName) : null;
  return !!type && type.private !== true;
};

/** The layout of a state of an activity type. Until the type is read, the state suggests one. */
export function layoutFor(typeName, state) {
  const type = typeName ? typeOf(typeName) : null;
  return layoutOf(type?.contentStateSchema ?? schemaOfState(state), type?.layout);
}
