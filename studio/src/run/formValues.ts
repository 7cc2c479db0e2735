// The run form: what a person writes in its fields, as the request that is sent.
//
// Invariant: an optional field that is left empty is not sent.
import type { Json, RequestField } from "../api/contract";

export type FieldKind = "line" | "text" | "number" | "boolean" | "choice" | "json";

export function kindOf(field: RequestField): FieldKind {
  if (choicesOf(field).length > 0) return "choice";
  switch (field.type) {
    case "string":
      return "line";
    case "document":
      return "text";
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "object":
    case "array":
    case "table":
    case "embedding":
      return "json";
    case null:
      return "line";
  }
}

/** The values a schema lists, when it lists texts. */
export function choicesOf(field: RequestField): string[] {
  const { schema } = field;
  if (schema === null || typeof schema !== "object" || Array.isArray(schema)) return [];
  const listed = schema.enum;
  if (!Array.isArray(listed)) return [];
  return listed.filter((value) => typeof value === "string");
}

export type Parsed = { value: Json } | { absent: true } | { fault: string };

export function parseField(field: RequestField, text: string): Parsed {
  if (text.trim() === "") return field.required ? { fault: "This field is required." } : { absent: true };
  switch (kindOf(field)) {
    case "line":
      return field.type === null ? { value: looseValue(text) } : { value: text };
    case "text":
    case "choice":
      return { value: text };
    case "number": {
      const number = Number(text);
      return Number.isFinite(number) ? { value: number } : { fault: "This is not a number." };
    }
    case "boolean":
      return { value: text === "true" };
    case "json":
      return parseJson(text);
  }
}

/** A field without a type takes JSON where the text is JSON, and text otherwise. */
function looseValue(text: string): Json {
  if (!/^\s*[[{]/.test(text)) return text;
  const parsed = parseJson(text);
  return "value" in parsed ? parsed.value : text;
}

export function parseJson(text: string): { value: Json } | { fault: string } {
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : "This is not JSON." };
  }
}

export interface FormResult {
  request: Record<string, Json>;
  faults: Record<string, string>;
}

export function requestOf(fields: readonly RequestField[], texts: Readonly<Record<string, string>>): FormResult {
  const result: FormResult = { request: {}, faults: {} };
  for (const field of fields) {
    const parsed = parseField(field, texts[field.name] ?? "");
    if ("value" in parsed) result.request[field.name] = parsed.value;
    else if ("fault" in parsed) result.faults[field.name] = parsed.fault;
  }
  return result;
}

/** A request as the texts of the fields, for those that the form has. */
export function textsOf(request: Json): Record<string, string> {
  if (request === null || typeof request !== "object" || Array.isArray(request)) return {};
  return Object.fromEntries(
    Object.entries(request).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value, null, 2)]),
  );
}
