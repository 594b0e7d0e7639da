/** Codes of the errors of this side, which are never sent (section 8 of the page). */

/** The call was never handled and never will be. */
export const NotDelivered = 0x0301;
/** The session has ended, and the call may have been handled. */
export const Unknown = 0x0302;
/** The peer was silent, or could not be reached, for longer than it keeps the session. */
export const Lost = 0x0303;
/** The caller has left before the call was sent. */
export const Withdrawn = 0x0304;
/** The program has given the reference back by which it calls. */
export const Released = 0x0305;
