/** The description of an actor, as it answers method 0 (section 9 of the page). */

import { type Kind, parseKind } from "./kind.js";
import type { Wire } from "./msgpack.js";

export interface Parameter {
  name: string;
  kind: Kind | undefined;
  spelled: string;
}

export interface Method {
  number: number;
  name: string;
  parameters: Parameter[];
  reply: Kind | undefined;
  isStream: boolean;
}

/** A field of a struct or of a variant. */
export interface Field {
  name: string;
  kind: Kind | undefined;
}

export interface Variant {
  name: string;
  number: number;
  fields: Field[];
}

/** A struct has fields, an enum has variants. */
export interface Shape {
  fields?: Field[];
  variants?: Variant[];
}

export interface Description {
  name: string;
  methods: Map<string, Method>;
  types: Map<string, Shape>;
}

const array = (value: Wire | undefined): Wire[] => (Array.isArray(value) ? value : []);
const string = (value: Wire | undefined): string => (typeof value === "string" ? value : "");

export function parseDescription(answer: Wire): Description {
  const [name, , methods] = array(answer);
  const description: Description = { name: string(name), methods: new Map(), types: new Map() };
  array(methods).forEach((value, at) => {
    const [name, parameters, reply, , , types, , isStream] = array(value);
    for (const one of array(types)) {
      const [name, parts] = array(one);
      description.types.set(string(name), shape(array(parts)));
    }
    // A method that this client may not call has no name, and keeps its place.
    if (string(name) === "") return;
    const spelled = string(reply);
    const item = /^Stream<(.*)>$/.exec(spelled)?.[1];
    description.methods.set(string(name), {
      number: at + 1,
      name: string(name),
      parameters: array(parameters).map((value) => {
        const [name, kind] = array(value);
        return { name: string(name), kind: parseKind(string(kind)), spelled: string(kind) };
      }),
      reply: parseKind(isStream === true && item !== undefined ? item : spelled),
      isStream: isStream === true,
    });
  });
  return description;
}

/** The parts of a struct have types; those of an enum are variants, whose type is empty. */
function shape(parts: Wire[]): Shape {
  const isEnum = parts.length > 0 && parts.every((part) => string(array(part)[1]) === "");
  if (!isEnum) {
    return { fields: parts.map((part) => field(array(part)[0], array(part)[1], array(part)[4])) };
  }
  return {
    variants: parts.map((part, at) => {
      const [name, , fields, , form] = array(part);
      const number = typeof form === "number" ? form : at;
      const read = (value: Wire) => field(array(value)[0], array(value)[1], array(value)[3]);
      return { name: string(name), number, fields: array(fields).map(read) };
    }),
  };
}

/** A field with a codec of its own has a form of which its type says nothing. */
function field(name: Wire | undefined, kind: Wire | undefined, form: Wire | undefined): Field {
  return { name: string(name), kind: form === true ? undefined : parseKind(string(kind)) };
}
