/** Why a call has no answer. */

import { Refused, type Problem } from "../data/client.js";

/** What went wrong, also where nothing has answered. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Refused) return error.problem;
  return { title: "No answer", status: 0, code: "NoAnswer", detail: String(error), hint: "try again when the connection is back" };
}
