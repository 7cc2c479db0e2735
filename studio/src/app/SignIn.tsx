// Asks for a key. It is kept for this tab only and sent as a header.
import { useState, type SyntheticEvent } from "react";
import { api } from "../api/client";
import { setKey } from "../api/key";
import { messageOf, Problem } from "../api/problem";
import type { Session } from "../api/contract";
import { Button } from "../design/Button";
import { Notice } from "../design/States";

export function SignIn({ onSession }: { onSession: (session: Session) => void }) {
  const [value, setValue] = useState("");
  const [fault, setFault] = useState<string | null>(null);
  const submit = async (event: SyntheticEvent) => {
    event.preventDefault();
    setKey(value.trim());
    try {
      onSession(await api.session());
    } catch (error) {
      setKey(null);
      const wrong = error instanceof Problem && error.body.status === 401;
      setFault(wrong ? "This key opens nothing here." : messageOf(error));
    }
  };
  return (
    <main className="sign-in">
      <form className="card" onSubmit={(event) => void submit(event)}>
        <h1>Stave Studio</h1>
        <p className="soft">This server asks for a key. It is kept in this tab until you close it.</p>
        <label className="label" htmlFor="key">
          API key
        </label>
        <input
          id="key"
          className="field"
          type="password"
          autoComplete="off"
          autoFocus
          value={value}
          onChange={(event) => setValue(event.target.value)}
        />
        {fault !== null && <Notice tone="bad">{fault}</Notice>}
        <Button submit look="primary" icon="key" disabled={value.trim() === ""}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
