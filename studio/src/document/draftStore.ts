// Drafts in the browser's storage: IndexedDB while the page lives, local storage for the last moment of a page.
//
// IndexedDB survives a crash but works asynchronously, so that a page that goes away may lose its last write; local
// storage is synchronous. Of two copies of a draft the newer one counts. Where the browser has no IndexedDB, local
// storage holds every draft.
import type { Draft, Drafts } from "./drafts";

const DATABASE = "stave-studio";
const TABLE = "drafts";
const PREFIX = "stave.draft.";
/** How long a draft that another page holds is waited for. A page that reloads lets go of its own within this time. */
const CLAIM_MS = 1500;

export class BrowserDrafts implements Drafts {
  private database: Promise<IDBDatabase | null> | null = null;
  /** What is still to be written: a draft, or null for one that is to be removed. */
  private readonly pending = new Map<string, Draft | null>();
  private writing: Promise<boolean> | null = null;
  /** Ids whose lock this page holds. */
  private readonly held = new Set<string>();

  async claim(scope: string, path: string): Promise<Draft[]> {
    const found = new Map<string, Draft>();
    for (const draft of [...(await this.stored()), ...fromLocalStorage()]) {
      if (draft.scope !== scope || draft.path !== path) continue;
      const known = found.get(draft.id);
      if (known === undefined || known.at <= draft.at) found.set(draft.id, draft);
    }
    const claimed = await Promise.all([...found.values()].map(async (draft) => ((await this.hold(draft.id)) ? draft : null)));
    return claimed.filter((draft) => draft !== null).sort((left, right) => right.at - left.at);
  }

  keep(draft: Draft): Promise<boolean> {
    void this.hold(draft.id);
    return this.enqueue(draft.id, draft);
  }

  keepNow(draft: Draft): void {
    putLocally(draft);
    void this.keep(draft);
  }

  drop(id: string): void {
    try {
      localStorage.removeItem(PREFIX + id);
    } catch {
      // Without storage there is nothing to remove.
    }
    void this.enqueue(id, null);
  }

  /** Writes what is pending, the latest state of each draft only. One transaction runs at a time. */
  private enqueue(id: string, draft: Draft | null): Promise<boolean> {
    this.pending.set(id, draft);
    this.writing ??= this.writeAll();
    return this.writing;
  }

  private async writeAll(): Promise<boolean> {
    let stored = true;
    while (this.pending.size > 0) {
      const batch = [...this.pending];
      this.pending.clear();
      const database = await this.open();
      if (database !== null && (await write(database, batch))) continue;
      for (const [, draft] of batch) stored = (draft === null || putLocally(draft)) && stored;
    }
    // In the same step as the last look at what is pending: nothing can come in between.
    this.writing = null;
    return stored;
  }

  private async stored(): Promise<Draft[]> {
    const database = await this.open();
    if (database === null) return [];
    return new Promise((resolve) => {
      try {
        const request = database.transaction(TABLE, "readonly").objectStore(TABLE).getAll();
        request.onsuccess = () => resolve((request.result as unknown[]).filter(isDraft));
        request.onerror = () => resolve([]);
      } catch {
        resolve([]);
      }
    });
  }

  private open(): Promise<IDBDatabase | null> {
    this.database ??= new Promise((resolve) => {
      try {
        const request = indexedDB.open(DATABASE, 1);
        request.onupgradeneeded = () => request.result.createObjectStore(TABLE, { keyPath: "id" });
        request.onsuccess = () => {
          const database = request.result;
          const forget = () => {
            database.close();
            this.database = null;
          };
          database.onversionchange = forget;
          database.onclose = forget;
          resolve(database);
        };
        request.onerror = () => resolve(null);
        request.onblocked = () => resolve(null);
      } catch {
        resolve(null);
      }
    });
    return this.database;
  }

  /** Takes the lock of a draft until the page goes away. Pages without TLS have no locks: there every draft is free. */
  private async hold(id: string): Promise<boolean> {
    if (this.held.has(id)) return true;
    // Absent on pages without TLS, whatever the types say.
    const locks = (navigator as Partial<Navigator>).locks;
    if (locks === undefined) return true;
    return new Promise((resolve) => {
      const forever = () => {
        this.held.add(id);
        resolve(true);
        return new Promise<never>(() => undefined);
      };
      locks.request(PREFIX + id, { signal: AbortSignal.timeout(CLAIM_MS) }, forever).catch(() => resolve(false));
    });
  }
}

function write(database: IDBDatabase, batch: readonly [string, Draft | null][]): Promise<boolean> {
  return new Promise((resolve) => {
    try {
      const transaction = database.transaction(TABLE, "readwrite");
      const table = transaction.objectStore(TABLE);
      for (const [id, draft] of batch) {
        if (draft === null) table.delete(id);
        else table.put(draft);
      }
      transaction.oncomplete = () => resolve(true);
      transaction.onerror = () => resolve(false);
      transaction.onabort = () => resolve(false);
      transaction.commit();
    } catch {
      resolve(false);
    }
  });
}

function putLocally(draft: Draft): boolean {
  try {
    localStorage.setItem(PREFIX + draft.id, JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}

function fromLocalStorage(): Draft[] {
  try {
    const names = Object.keys(localStorage).filter((name) => name.startsWith(PREFIX));
    return names.flatMap((name) => {
      try {
        const value: unknown = JSON.parse(localStorage.getItem(name) ?? "null");
        return isDraft(value) ? [value] : [];
      } catch {
        return [];
      }
    });
  } catch {
    return [];
  }
}

/** Other versions of the studio, and other pages of the origin, may have written something else. */
function isDraft(value: unknown): value is Draft {
  if (value === null || typeof value !== "object") return false;
  const draft = value as Record<string, unknown>;
  const isText = (name: string) => typeof draft[name] === "string";
  const isTextOrNull = (name: string) => draft[name] === null || isText(name);
  return ["id", "scope", "path", "text"].every(isText) && ["base", "sending"].every(isTextOrNull) && typeof draft.at === "number";
}
