/** The input of one argument. */

import type { Field } from "./schema.js";

const WORDS: Record<Field["kind"], string> = {
  integer: "whole number",
  number: "number",
  text: "text",
  boolean: "yes or no",
  choice: "one of",
  json: "JSON",
};

interface Properties {
  id: string;
  field: Field;
  text: string;
  wrong: string | undefined;
  onText: (text: string) => void;
}

export function FieldInput({ id, field, text, wrong, onText }: Properties) {
  return (
    <div class="field">
      <label for={id}>
        {field.name} <span class="muted">{WORDS[field.kind]}{field.isOptional && ", may be empty"}</span>
      </label>
      {field.comment && <p class="hint" id={`${id}-comment`}>{field.comment}</p>}
      <Input id={id} field={field} text={text} wrong={wrong} onText={onText} />
      {wrong !== undefined && <p class="wrong" id={`${id}-wrong`}>Expected {wrong}.</p>}
    </div>
  );
}

function Input({ id, field, text, wrong, onText }: Properties) {
  const described = [field.comment && `${id}-comment`, wrong !== undefined && `${id}-wrong`].filter(Boolean).join(" ");
  const common = { id, name: field.name, "aria-invalid": wrong !== undefined, "aria-describedby": described };
  switch (field.kind) {
    case "boolean":
    case "choice": {
      const options = field.kind === "boolean" ? ["false", "true"] : field.options;
      const all = field.isOptional ? ["", ...options] : options;
      return (
        <select {...common} value={text || all[0]!} onChange={(event) => onText(event.currentTarget.value)}>
          {all.map((option) => <option key={option} value={option}>{option === "" ? "none" : option}</option>)}
        </select>
      );
    }
    case "json":
      return (
        <textarea {...common} rows={text.length > 60 ? 5 : 2} spellcheck={false} value={text} onInput={(event) => onText(event.currentTarget.value)} />
      );
    default:
      return (
        <input
          {...common}
          type="text"
          inputMode={field.kind === "integer" ? "numeric" : field.kind === "number" ? "decimal" : "text"}
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      );
  }
}
