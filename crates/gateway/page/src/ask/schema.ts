/** From the JSON Schema of an argument to a field of a form, and from its text to JSON. */

export interface Schema {
  type?: string | string[];
  $ref?: string;
  anyOf?: Schema[];
  oneOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema | false;
  prefixItems?: Schema[];
  minItems?: number;
  description?: string;
  title?: string;
}

/** The interface of an actor, as `GET /{actor}` answers it. */
export interface Interface {
  title: string;
  description: string;
  methods: Record<string, Method>;
  components: { schemas: Record<string, Schema> };
}

export interface Method {
  signature: string;
  description?: string;
  arguments: Schema;
  stream: boolean;
}

export interface Field {
  name: string;
  kind: "integer" | "number" | "text" | "boolean" | "choice" | "json";
  /** It may be left empty. */
  isOptional: boolean;
  options: string[];
  /** The comments of its type. */
  comment: string;
  /** What it begins with: for JSON a value of the right form. */
  initial: string;
}

/** References within references, and forms within forms, that are followed. */
const DEPTH_MAX = 8;

/** The fields of a method, in the order of its arguments. */
export function fieldsOf(method: Method, types: Record<string, Schema>): Field[] {
  const required = new Set(method.arguments.required);
  // JSON does not keep the order of the arguments, the signature does.
  const position = (name: string) => method.signature.search(new RegExp(`[(,] ?${name}: `));
  const names = Object.keys(method.arguments.properties ?? {}).sort((one, other) => position(one) - position(other));
  return names.map((name) => fieldOf(name, method.arguments.properties![name]!, !required.has(name), types));
}

function fieldOf(name: string, given: Schema, isOptional: boolean, types: Record<string, Schema>): Field {
  const { schema, isNullable } = unwrapped(resolved(given, types), types);
  const options = choices(schema);
  const kind = options.length > 0 ? "choice" : kindOf(schema, types);
  const comment = schema.description ?? given.description ?? "";
  const first = kind === "boolean" ? "false" : options[0];
  const hasNone = isOptional || isNullable;
  if (first !== undefined) return { name, kind, isOptional: hasNone, options, comment, initial: hasNone ? "" : first };
  const initial = kind === "json" && !hasNone ? JSON.stringify(example(schema, types, 0), null, 1).replace(/\n\s*/g, " ") : "";
  return { name, kind, isOptional: hasNone, options, comment, initial };
}

function resolved(schema: Schema, types: Record<string, Schema>): Schema {
  let found = schema;
  for (let depth = 0; found.$ref !== undefined && depth < DEPTH_MAX; depth += 1) {
    found = types[found.$ref.split("/").at(-1)!] ?? {};
  }
  return found;
}

/** An `Option` is null or the value. */
function unwrapped(schema: Schema, types: Record<string, Schema>): { schema: Schema; isNullable: boolean } {
  const others = schema.anyOf?.filter((one) => one.type !== "null");
  if (schema.anyOf === undefined || others?.length !== 1 || schema.anyOf.length !== 2) return { schema, isNullable: false };
  return { schema: resolved(others[0]!, types), isNullable: true };
}

/** The names of an enum whose variants have no fields. */
function choices(schema: Schema): string[] {
  const options = schema.enum ?? (schema.oneOf?.length === 1 ? schema.oneOf[0]!.enum : undefined) ?? [];
  return options.every((option) => typeof option === "string") ? (options as string[]) : [];
}

function kindOf(schema: Schema, types: Record<string, Schema>): Field["kind"] {
  // Of several forms, the first is the usual one.
  const first = schema.anyOf === undefined ? schema : resolved(schema.anyOf[0]!, types);
  if (first.const !== undefined || first.enum !== undefined) return "json";
  switch (first.type) {
    case "integer": return "integer";
    case "number": return "number";
    case "string": return "text";
    case "boolean": return "boolean";
    default: return "json";
  }
}

/** A value of the right form. */
export function example(given: Schema, types: Record<string, Schema>, depth: number): unknown {
  const schema = resolved(given, types);
  if (depth > DEPTH_MAX) return null;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms !== undefined) {
    return forms.some((form) => form.type === "null") ? null : example(forms[0]!, types, depth + 1);
  }
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case "integer": case "number": return 0;
    case "string": return "";
    case "boolean": return false;
    case "array": return exampleArray(schema, types, depth);
    case "object": {
      const properties = Object.entries(schema.properties ?? {});
      return Object.fromEntries(properties.map(([name, form]) => [name, example(form, types, depth + 1)]));
    }
    default: return null;
  }
}

function exampleArray(schema: Schema, types: Record<string, Schema>, depth: number): unknown[] {
  if (schema.prefixItems !== undefined) return schema.prefixItems.map((item) => example(item, types, depth + 1));
  const { items } = schema;
  const count = Math.min(schema.minItems ?? 0, 32);
  return items ? Array.from({ length: count }, () => example(items, types, depth + 1)) : [];
}

/** What is wrong with a text, or the JSON that it stands for; `undefined` is left out of the call. */
export type Read = { json: string | undefined } | { wrong: string };

/** The JSON of a field. A number is passed on as it is written: JavaScript would round it. */
export function read(field: Field, text: string): Read {
  const trimmed = text.trim();
  if (field.isOptional && (field.kind === "text" ? text === "" : trimmed === "")) return { json: undefined };
  switch (field.kind) {
    case "integer":
      return /^-?(0|[1-9]\d*)$/.test(trimmed) ? { json: trimmed } : { wrong: "a whole number, as 42" };
    case "number":
      return isJson(trimmed) && /^-?\d/.test(trimmed) ? { json: trimmed } : { wrong: "a number, as 1.5" };
    case "text": return { json: JSON.stringify(text) };
    case "choice": return { json: JSON.stringify(text) };
    case "boolean": return { json: text === "true" ? "true" : "false" };
    case "json": return isJson(trimmed) ? { json: trimmed } : { wrong: "JSON, as [1, 2] or {\"name\": \"text\"}" };
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The body of a call: its arguments by their names. */
export const bodyOf = (values: [string, string][]): string =>
  `{${values.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`;

/** JSON with line ends, or as it is if a number in it would be rounded. */
export function pretty(json: string): string {
  try {
    const value: unknown = JSON.parse(json);
    return JSON.stringify(value) === json ? JSON.stringify(value, null, 2) : json;
  } catch {
    return json;
  }
}
