// Dates in the fields of a form, in the reader's time zone.

import { serverNow } from "./clock.js";

/** A value that cannot be sent, with the path of its field. */
export class FieldError extends Error {
  constructor(path, message) {
    super(message);
    this.path = path;
  }
}

/** Whether a date field has a day without a time, or another part only. Its value is empty then. */
export const isHalfFilled = (input) => input.type === "datetime-local" && input.validity.badInput;

/** A date in the format of a browser's field. */
export const localText = (date) => new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);

/** The date of a field in seconds since 1970, or undefined if the field is empty. */
export function dateSeconds(input, path) {
  if (isHalfFilled(input)) throw new FieldError(path, "needs a day and a time");
  return input.value ? Math.floor(new Date(input.value).getTime() / 1000) : undefined;
}

/** The date of a field that must be filled in and must lie in the future. */
export function futureSeconds(input, path) {
  const seconds = dateSeconds(input, path);
  if (seconds === undefined) throw new FieldError(path, "needs a day and a time; choose Now to send at once");
  if (seconds * 1000 <= serverNow()) throw new FieldError(path, "is in the past; choose Now to send at once");
  return seconds;
}

/** A number of a field, or undefined if the field is empty. */
export function fieldNumber(input, path) {
  if (input.value.trim() === "") return undefined;
  const value = Number(input.value);
  if (Number.isNaN(value)) throw new FieldError(path, "must be a number");
  return value;
}

/** A number of seconds of a field that must be filled in. */
export function delaySeconds(input, path) {
  const seconds = fieldNumber(input, path);
  if (seconds === undefined || !(seconds > 0) || !Number.isInteger(seconds)) {
    throw new FieldError(path, "needs a whole number of seconds above 0; choose Now to send at once");
  }
  return seconds;
}
