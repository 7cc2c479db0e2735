// What the gateway recorded: money over time, the part that came from caches, who saved, and where requests parted
// from what was cached.
import { useCallback, useState } from "react";
import { api } from "../api/client";
import type { GatewayStats, Group, GroupBy, Sums } from "../api/contract";
import { useLoaded } from "../app/loading";
import { Empty, Failed, Loading } from "../design/States";
import { duration, grouped, moment, money, percent } from "../run/amounts";
import "./gateway.css";
import { amount, axisOf, bars, CHART, hitPath } from "./series";

const SPANS = [
  { hours: 1, title: "last hour" },
  { hours: 24, title: "last day" },
  { hours: 7 * 24, title: "last week" },
  { hours: 365 * 24, title: "last year" },
];
const GROUPS: GroupBy[] = ["model", "session", "key", "upstream"];

export default function GatewayPage() {
  const [project, setProject] = useState<string>();
  const [by, setBy] = useState<GroupBy>("model");
  const [hours, setHours] = useState(7 * 24);
  const load = useCallback(() => api.gateway(project, by, hours), [project, by, hours]);
  const { value, error, reload } = useLoaded(load);
  if (error !== null) return <Failed error={error} retry={reload} />;
  if (value === null) return <Loading what="Reading the gateway's records" />;
  if (!value.available) {
    return (
      <Empty title="The gateway has recorded nothing here">
        <p>
          <code>stave gateway</code>, started in the folder of the project, is a proxy between clients and providers and
          keeps a record of every request.
        </p>
      </Empty>
    );
  }
  const { stats } = value;
  return (
    <div className="page scroll gateway">
      <header className="page-head">
        <h1>Gateway</h1>
        <span className="faint">
          {moment(stats.since, new Date())} to {moment(stats.until, new Date())}
        </span>
        <span className="grow" />
        {value.projects.length > 1 && (
          <select
            className="field"
            aria-label="Project"
            value={value.project}
            onChange={(event) => setProject(event.target.value)}
          >
            {value.projects.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        )}
        <select className="field" aria-label="Time span" value={hours} onChange={(event) => setHours(Number(event.target.value))}>
          {SPANS.map((span) => (
            <option key={span.hours} value={span.hours}>
              {span.title}
            </option>
          ))}
        </select>
      </header>
      <Totals stats={stats} />
      <Chart stats={stats} />
      <div className="gateway-tables">
        <section>
          <header className="row">
            <h2 className="grow">Spent by</h2>
            <select
              className="field"
              aria-label="Group by"
              value={by}
              onChange={(event) => setBy(event.target.value as GroupBy)}
            >
              {GROUPS.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </header>
          <Groups groups={stats.groups} by={stats.by} />
        </section>
        <section>
          <header className="row">
            <h2>Saved by session</h2>
          </header>
          <Groups groups={stats.saving_sessions} by="session" />
        </section>
        <section>
          <h2>Where requests part from the cache</h2>
          <Misses stats={stats} />
        </section>
        <section>
          <h2>Not planned for, and failed open</h2>
          <Reasons reasons={stats.not_planned} tone="" />
          <Reasons reasons={stats.failed_open} tone="bad" />
          {Object.keys(stats.not_planned).length + Object.keys(stats.failed_open).length === 0 && (
            <p className="soft">Every request was planned for.</p>
          )}
        </section>
      </div>
    </div>
  );
}

const dollars = (decimal: string | null) =>
  decimal === null ? "no price" : money(Math.round(amount(decimal) * 1e6));

function Totals({ stats }: { stats: GatewayStats }) {
  const { total, latency } = stats;
  const rate = total.hit_rate === null ? "none" : percent(total.hit_rate, 1);
  const facts: [string, string, string][] = [
    ["Spent", dollars(total.spent_usd), total.unpriced > 0 ? `${grouped(total.unpriced)} without a price` : ""],
    ["Saved", dollars(total.saved_usd), amount(total.saved_usd) < 0 ? "marks cost more than they brought" : ""],
    ["From caches", rate, `${grouped(total.cache_read_tokens)} of ${grouped(total.input_tokens)} tokens`],
    ["Requests", grouped(total.requests), `${grouped(total.refused)} refused, ${grouped(total.failed)} failed`],
    ["Added time", duration(latency.own_p50_us / 1000), `99%: ${duration(latency.own_p99_us / 1000)}`],
    ["Whole time", duration(latency.total_p50_us / 1000), `99%: ${duration(latency.total_p99_us / 1000)}`],
  ];
  return (
    <dl className="totals">
      {facts.map(([name, value, note]) => (
        <div key={name} className="card">
          <dt>{name}</dt>
          <dd>{value}</dd>
          <dd className="faint">{note}</dd>
        </div>
      ))}
    </dl>
  );
}

function Chart({ stats }: { stats: GatewayStats }) {
  const axis = axisOf(stats.series, stats.bucket_seconds);
  const ground = CHART.height;
  const time = (milliseconds: number) => moment(new Date(milliseconds).toISOString(), new Date());
  return (
    <figure className="card chart">
      <figcaption className="row wrap">
        <span className="key spent">
          <span className="swatch" /> spent
        </span>
        <span className="key saved">
          <span className="swatch" /> saved
        </span>
        <span className="key hits">
          <span className="swatch" /> from caches, of the input
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${CHART.width} ${CHART.height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Money over time: ${dollars(stats.total.spent_usd)} spent, ${dollars(stats.total.saved_usd)} saved`}
      >
        <path className="ground" d={`M0 ${ground}H${CHART.width}M0 0H${CHART.width}M0 ${ground / 2}H${CHART.width}`} />
        {bars(stats.series, axis).map((bar) => (
          <g key={bar.sums.start}>
            <title>{bucketTitle(bar.sums)}</title>
            <rect className="hit-area" x={bar.x} y={0} width={bar.width} height={ground} />
            <rect className="spent" x={bar.x} y={ground - bar.spent} width={bar.width} height={bar.spent} />
            <rect className="saved" x={bar.x} y={ground - bar.spent - bar.saved} width={bar.width} height={bar.saved} />
          </g>
        ))}
        <path className="hits" d={hitPath(stats.series, axis)} />
      </svg>
      {stats.series.length > 0 && (
        <div className="row faint ends">
          <span className="grow">{time(axis.from)}</span>
          <span>{time(axis.to)}</span>
        </div>
      )}
    </figure>
  );
}

function bucketTitle(sums: Sums & { start: string }): string {
  const rate = sums.hit_rate === null ? "" : `, ${percent(sums.hit_rate, 1)} from caches`;
  const spent = `${dollars(sums.spent_usd)} spent, ${dollars(sums.saved_usd)} saved`;
  return `${moment(sums.start, new Date())}: ${spent}${rate}, ${grouped(sums.requests)} requests`;
}

/** A request that was refused has gone to nobody. */
const isNamed = (name: string | undefined) => name !== undefined && name !== "";

function Groups({ groups, by }: { groups: readonly Group[]; by: GroupBy }) {
  if (groups.length === 0) return <p className="soft">None.</p>;
  return (
    <div className="card table-card">
      <table>
        <thead>
          <tr>
            <th>{by}</th>
            <th className="number">Requests</th>
            <th className="number">From caches</th>
            <th className="number">Spent</th>
            <th className="number">Saved</th>
          </tr>
        </thead>
        <tbody>
          {groups.map((group, index) => (
            <tr key={group[by] ?? index}>
              <td className="mono group-name">{isNamed(group[by]) ? group[by] : <span className="faint">none</span>}</td>
              <td className="number">{grouped(group.requests)}</td>
              <td className="number">{group.hit_rate === null ? "" : percent(group.hit_rate, 1)}</td>
              <td className="number">{dollars(group.spent_usd)}</td>
              <td className="number">{dollars(group.saved_usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Misses({ stats }: { stats: GatewayStats }) {
  if (stats.misses.length === 0) return <p className="soft">No request parted from what was cached.</p>;
  return (
    <div className="card table-card">
      <table>
        <thead>
          <tr>
            <th>Place</th>
            <th>Variable</th>
            <th className="number">Requests</th>
            <th className="number">Lost tokens</th>
          </tr>
        </thead>
        <tbody>
          {stats.misses.map((miss) => (
            <tr key={`${miss.place}:${miss.variable ?? ""}`}>
              <td className="mono">{miss.place}</td>
              <td className="mono">{miss.variable ?? ""}</td>
              <td className="number">{grouped(miss.requests)}</td>
              <td className="number">{grouped(miss.lost_tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Reasons({ reasons, tone }: { reasons: Record<string, number>; tone: string }) {
  return (
    <ul className="stack">
      {Object.entries(reasons).map(([reason, count]) => (
        <li key={reason} className="row">
          <span className={`badge ${tone}`}>{grouped(count)}</span> {reason}
        </li>
      ))}
    </ul>
  );
}
