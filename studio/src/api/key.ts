// The key of this tab. It is sent as a header and never becomes part of an address.
const NAME = "stave.key";

let current: string | null = sessionStorage.getItem(NAME);

export function key(): string | null {
  return current;
}

export function setKey(value: string | null): void {
  current = value;
  if (value === null) sessionStorage.removeItem(NAME);
  else sessionStorage.setItem(NAME, value);
}
