/** The types of opening messages (section 1 of the page). */

export const HELLO = 1;
export const AUTH = 2;
export const OPEN = 3;
export const OPENED = 4;
export const RESUME = 5;
export const RESUMED = 6;
export const REFUSED = 7;
