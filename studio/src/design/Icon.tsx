// Line icons, drawn here so that nothing is fetched for them. They are decoration: labels are in the text.

const PATHS = {
  add: "M8 3v10M3 8h10",
  arrange: "M2 4h4v3H2zM10 2h4v3h-4zM10 11h4v3h-4zM6 5.5h2v-2h2M8 5.5v7h2",
  back: "M10 3 5 8l5 5",
  chat: "M2.5 3.5h11v7h-6l-3 2.5v-2.5h-2z",
  check: "m3 8.5 3.2 3.2L13 5",
  chevron: "m6 4 4 4-4 4",
  close: "m4 4 8 8m0-8-8 8",
  code: "m5.5 4.5-3.5 3.5 3.5 3.5m5-7 3.5 3.5-3.5 3.5",
  compare: "M5 3v10M11 3v10M2 6l3-3 3 3M8 10l3 3 3-3",
  connect: "M2.5 8h4m3 0h4M6.5 5.5v5m3-5v5",
  copy: "M5.5 5.5h7v7h-7zM3.5 10.5v-7h7",
  data: "M3 4.5c0-2 10-2 10 0s-10 2-10 0v7c0 2 10 2 10 0v-7M3 8c0 2 10 2 10 0",
  delete: "M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.5 8.5h6l.5-8.5",
  end: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11",
  error: "M8 2 1.8 13h12.4zM8 6.2v3.2m0 1.8v.1",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  fit: "M2.5 6V2.5H6m4 0h3.5V6m0 4v3.5H10m-4 0H2.5V10",
  gateway: "M2 8h3l2-4 2 8 2-4h3",
  graph: "M2 3h4v3H2zM10 10h4v3h-4zM6 4.5h2.5c2 0 3.5 1 3.5 3.5v2",
  help: "M6 6c0-3 4.5-2.8 4.2-.2C10 7.5 8 7.4 8 9.5m0 2.2v.1",
  http: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M2 8h12M8 2c4 3.5 4 8.5 0 12M8 2c-4 3.5-4 8.5 0 12",
  info: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2m0 5.2v4m0-6.4v.1",
  less: "M3 8h10",
  key: "M10.5 2.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8.2 7.7 3 13m2-2 1.5 1.5",
  lines: "M2 4h12M2 8h12M2 12h12",
  lock: "M4 7h8v6H4zM5.5 7V5a2.5 2.5 0 0 1 5 0v2",
  model: "M8 2l1.6 4.4L14 8l-4.4 1.6L8 14 6.4 9.6 2 8l4.4-1.6z",
  moon: "M12.5 9.5A5.2 5.2 0 0 1 6.5 3.5a5.2 5.2 0 1 0 6 6",
  person: "M8 2.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5M3 13.5c0-5 10-5 10 0",
  play: "M4.5 3v10l8-5z",
  redo: "M10 3l3 3-3 3m3-3H6.5a3.5 3.5 0 0 0 0 7H9",
  replay: "M3 8a5 5 0 1 1 1.5 3.5M3 13v-2.5h2.5",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9m3.3 7.8L14 14",
  state: "M3 5h10v6H3zM5.5 5v6M10.5 5v6",
  stop: "M4 4h8v8H4z",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7",
  system: "M2.5 3h11v7.5h-11zM6 13.5h4M8 10.5v3",
  text: "M3 3.5h10M3 6.5h7M5 9.5h8M5 12.5h5",
  tool: "M10 2.5a3.5 3.5 0 0 0-3.3 4.7L2.5 11.5l2 2 4.3-4.2A3.5 3.5 0 0 0 13.5 6l-2 2-2-2 2-2A3 3 0 0 0 10 2.5",
  undo: "M6 3 3 6l3 3M3 6h6.5a3.5 3.5 0 0 1 0 7H7",
  warning: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2m0 3v4m0 2.2v.1",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
