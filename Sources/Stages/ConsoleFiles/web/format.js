// Numbers and times in a readable format, in the reader's time zone.

import { serverNow } from "./clock.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const dayAndYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

export const count = (number) => (number === undefined || number === null ? "–" : whole.format(number));

/** A count with its noun: `1 phone`, `2,000 phones`. */
export const counted = (number, one, many = one + "s") => `${count(number)} ${number === 1 ? one : many}`;

/** A share from 0 to 1 as a percentage. It shows 100 % only for all, and 0 % only for nothing. */
export function share(part) {
  if (part === undefined || part === null || Number.isNaN(part)) return "–";
  if (part > 0 && part < 0.001) return "<0.1 %";
  if (part < 1 && part > 0.999) return ">99.9 %";
  const percent = part * 100;
  return `${Number.isInteger(percent) ? percent : percent.toFixed(1)} %`;
}

/** A time from milliseconds since 1970, with the day if it is not today. */
export function time(at) {
  if (at === undefined || at === null) return "–";
  const date = new Date(at);
  const today = new Date();
  if (date.toDateString() === today.toDateString()) return clock.format(date);
  const form = date.getFullYear() === today.getFullYear() ? day : dayAndYear;
  return `${form.format(date)}, ${clock.format(date)}`;
}

export const dayOf = (at) => day.format(new Date(at));
export const exact = (at) => (at === undefined ? "" : new Date(at).toISOString());

/** A duration in one or two units. */
export function span(milliseconds) {
  if (milliseconds === undefined || milliseconds === null) return "–";
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60 ? `${minutes % 60} min` : ""}`.trim() : `${Math.floor(hours / 24)} days`;
}

export const ago = (at, now = serverNow()) => {
  const passed = Math.max(0, now - at);
  return passed < 2000 ? "just now" : `${span(passed)} ago`;
};

export const bytes = (number) => `${whole.format(number)} bytes`;
