import { describe, expect, it } from "vitest";
import type { PortType, RequestField } from "../api/contract";
import { kindOf, parseField, requestOf, textsOf } from "./formValues";

const field = (name: string, type: PortType | null, required = true): RequestField => ({
  name,
  type,
  required,
  schema: null,
  description: null,
  sensitivity: null,
});

describe("the run form", () => {
  it("makes a request from its texts", () => {
    const fields = [field("q", "string"), field("n", "number"), field("b", "boolean"), field("o", "object")];
    const texts = { q: "007", n: "1.5", b: "false", o: '{"a": [1]}' };
    expect(requestOf(fields, texts)).toEqual({ request: { q: "007", n: 1.5, b: false, o: { a: [1] } }, faults: {} });
  });

  it("leaves out optional fields that are empty and names required ones", () => {
    const { request, faults } = requestOf([field("a", "string"), field("b", "string", false)], {});
    expect(request).toEqual({});
    expect(Object.keys(faults)).toEqual(["a"]);
  });

  it("says what is no number and no JSON", () => {
    expect(parseField(field("n", "number"), "1x")).toHaveProperty("fault");
    expect(parseField(field("o", "object"), "{")).toHaveProperty("fault");
  });

  it("takes JSON for a field without a type, and text when it is not JSON", () => {
    expect(parseField(field("x", null), '{"a": 1}')).toEqual({ value: { a: 1 } });
    expect(parseField(field("x", null), "{a")).toEqual({ value: "{a" });
    expect(parseField(field("x", null), "12")).toEqual({ value: "12" });
  });

  it("offers the values that a schema lists", () => {
    expect(kindOf({ ...field("x", "string"), schema: { enum: ["a", "b"] } })).toBe("choice");
  });

  it("fills the fields from an earlier request", () => {
    expect(textsOf({ a: "x", b: 2, c: { d: 1 } })).toEqual({ a: "x", b: "2", c: '{\n  "d": 1\n}' });
    expect(textsOf([1])).toEqual({});
  });
});
