// Starting a run: a form made from the types of the request, or the request as JSON.
import { useId, useState, type SyntheticEvent } from "react";
import { api } from "../api/client";
import { messageOf, Problem } from "../api/problem";
import type { RequestField } from "../api/contract";
import { go } from "../app/route";
import { Button } from "../design/Button";
import { Dialog } from "../design/Dialog";
import { Prose } from "../design/Prose";
import { Notice } from "../design/States";
import { Tabs } from "../design/Tabs";
import type { FlowDocument } from "../document/document";
import { useStore } from "../document/store";
import { choicesOf, kindOf, parseJson, requestOf, textsOf } from "./formValues";
import { lastRequest, rememberRequest } from "./lastRequest";
import "./run.css";

interface RunFormProps {
  document: FlowDocument;
  onClose: () => void;
}

const NONE: RequestField[] = [];

export default function RunForm({ document, onClose }: RunFormProps) {
  const fields = useStore(document.store, (state) => state.analysis?.request ?? NONE);
  const path = useStore(document.store, (state) => state.path);
  const [mode, setMode] = useState<"form" | "json">("form");
  const [texts, setTexts] = useState<Record<string, string>>(() => textsOf(lastRequest(path)));
  const [json, setJson] = useState("");
  const [shown, setShown] = useState(false);
  const [fault, setFault] = useState<{ message: string; findings: string[] } | null>(null);
  const [busy, setBusy] = useState(false);
  const { request, faults } = requestOf(fields, texts);

  const change = (next: "form" | "json") => {
    if (next === "json") setJson(JSON.stringify(request, null, 2));
    else {
      const parsed = parseJson(json);
      if ("value" in parsed) setTexts(textsOf(parsed.value));
    }
    setMode(next);
  };

  const submit = async (event: SyntheticEvent) => {
    event.preventDefault();
    setShown(true);
    const parsed = mode === "json" ? parseJson(json) : { value: request };
    if ("fault" in parsed) {
      setFault({ message: parsed.fault, findings: [] });
      return;
    }
    if (mode === "form" && Object.keys(faults).length > 0) return;
    setBusy(true);
    try {
      const begun = await api.start(document.subject, parsed.value);
      rememberRequest(path, parsed.value);
      onClose();
      go({ page: "run", id: begun.run_id });
    } catch (error) {
      const found = error instanceof Problem ? (error.body.diagnostics ?? []) : [];
      const findings = found.map((finding) => `${finding.line}:${finding.column} ${finding.code}: ${finding.message}`);
      setFault({ message: messageOf(error), findings });
      setBusy(false);
    }
  };

  return (
    <Dialog title="Run the flow" onClose={onClose}>
      <form className="run-form" onSubmit={(event) => void submit(event)}>
        <Tabs
          label="How to write the request"
          tabs={[
            { id: "form", title: "Fields" },
            { id: "json", title: "JSON" },
          ]}
          current={mode}
          onChange={change}
        />
        <div className="content stack">
          {mode === "json" ? (
            <textarea
              className="field mono"
              rows={14}
              aria-label="Request as JSON"
              spellCheck={false}
              value={json}
              onChange={(event) => setJson(event.target.value)}
            />
          ) : (
            <>
              {fields.length === 0 && <p className="soft">This flow takes no fields.</p>}
              {fields.map((field, index) => (
                <Field
                  key={field.name}
                  field={field}
                  first={index === 0}
                  text={texts[field.name] ?? ""}
                  fault={shown ? (faults[field.name] ?? null) : null}
                  onChange={(text) => setTexts({ ...texts, [field.name]: text })}
                />
              ))}
            </>
          )}
          {fault !== null && (
            <Notice tone="bad">
              <p>
                <Prose text={fault.message} />
              </p>
              {fault.findings.map((finding) => (
                <p key={finding} className="mono">
                  {finding}
                </p>
              ))}
            </Notice>
          )}
        </div>
        <footer>
          <span className="faint grow">The text as it is here runs, saved or not.</span>
          <Button onClick={onClose}>Cancel</Button>
          <Button submit look="primary" icon="play" disabled={busy}>
            Start
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

interface FieldProps {
  field: RequestField;
  text: string;
  fault: string | null;
  first: boolean;
  onChange: (text: string) => void;
}

function Field({ field, text, fault, first, onChange }: FieldProps) {
  const id = useId();
  const note = `${id}-note`;
  return (
    <div>
      <label className="label" htmlFor={id}>
        {field.name}
        <span className="type">{field.type ?? "any"}</span>
        {!field.required && <span className="type">optional</span>}
        {field.sensitivity !== null && field.sensitivity !== "public" && (
          <span className="badge warn">{field.sensitivity}</span>
        )}
      </label>
      <Control id={id} note={note} field={field} text={text} fault={fault} first={first} onChange={onChange} />
      <p id={note} className={fault === null ? "faint" : "bad-text"}>
        {fault ?? field.description}
      </p>
    </div>
  );
}

function Control({ id, note, field, text, fault, first, onChange }: FieldProps & { id: string; note: string }) {
  const rest = {
    id,
    className: "field",
    value: text,
    autoFocus: first,
    "aria-describedby": note,
    "aria-invalid": fault !== null,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  switch (kindOf(field)) {
    case "line":
      return <input {...rest} autoComplete="off" />;
    case "number":
      return <input {...rest} inputMode="decimal" autoComplete="off" />;
    case "text":
      return <textarea {...rest} rows={5} />;
    case "json":
      return <textarea {...rest} rows={4} className="field mono" spellCheck={false} placeholder="JSON" />;
    case "boolean":
      return (
        <select {...rest}>
          <option value="" />
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      );
    case "choice":
      return (
        <select {...rest}>
          <option value="" />
          {choicesOf(field).map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      );
  }
}
