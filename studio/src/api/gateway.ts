// The contract of the gateway page: what its records come to.

export interface Sums {
  requests: number;
  answered: number;
  refused: number;
  failed: number;
  cancelled: number;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_written_tokens: number;
  hit_rate: number | null;
  /** Dollars, as a decimal text: a float would not be exact. */
  spent_usd: string;
  saved_usd: string;
  unpriced: number;
}

export type GroupBy = "session" | "model" | "key" | "upstream";

export type Group = Sums & Partial<Record<GroupBy, string>>;

export interface Miss {
  place: string;
  variable: string | null;
  requests: number;
  lost_tokens: number;
  common_tokens: number;
}

export interface GatewayStats {
  since: string;
  until: string;
  total: Sums;
  latency: { total_p50_us: number; total_p99_us: number; own_p50_us: number; own_p99_us: number };
  by: GroupBy;
  groups: Group[];
  group_count: number;
  saving_sessions: Group[];
  bucket_seconds: number;
  series: (Sums & { start: string })[];
  misses: Miss[];
  not_planned: Record<string, number>;
  failed_open: Record<string, number>;
}

export type GatewayReport =
  | { available: false; reason: string }
  | { available: true; project: string; projects: string[]; stats: GatewayStats };
