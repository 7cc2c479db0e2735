// Whose the system is, what it touches and what it promises, at a glance.
import type { Lines } from "../api/contract";
import { Icon, type IconName } from "../design/Icon";
import { JsonView } from "../design/JsonView";

type FactsData = Lines["facts"];
type Effect = FactsData["effects"][number];

const ICON: Record<Effect["kind"], IconName> = {
  network: "http",
  secret: "key",
  tool: "tool",
  state: "state",
  other: "info",
};

const KINDS: Effect["kind"][] = ["network", "secret", "tool", "state", "other"];

function described(effect: Effect): string {
  const others = effect.nodes.filter((node) => node !== effect.what);
  return others.length === 0 ? effect.kind : `${effect.kind} of ${others.join(", ")}`;
}

export function Facts({ facts }: { facts: FactsData }) {
  return (
    <div className="page scroll stack">
      <dl className="fact-cards">
        <div className="card">
          <dt>Tenant</dt>
          <dd>{facts.tenant}</dd>
        </div>
        <div className="card">
          <dt>Repository</dt>
          <dd>{facts.repo}</dd>
        </div>
        <div className="card">
          <dt>Policy</dt>
          <dd>{facts.policy}</dd>
        </div>
        {(["exec", "system", "bundle"] as const).map((line) => (
          <div key={line} className="card">
            <dt>Fingerprint of {line}</dt>
            <dd className="mono clip" title={facts.fingerprints[line]}>
              {facts.fingerprints[line]}
            </dd>
          </div>
        ))}
      </dl>
      <section>
        <h2>Effects</h2>
        {facts.effects.length === 0 && <p className="soft">This flow touches nothing outside.</p>}
        <ul className="effects">
          {KINDS.flatMap((kind) => facts.effects.filter((effect) => effect.kind === kind)).map((effect) => (
            <li key={`${effect.kind}:${effect.what}`} className="card">
              <Icon name={ICON[effect.kind]} />
              <div className="grow">
                <strong className="effect-name">{effect.what}</strong>
                <div className="faint">{described(effect)}</div>
              </div>
            </li>
          ))}
        </ul>
      </section>
      <section>
        <h2>Contracts</h2>
        {facts.contracts.map((contract) => (
          <details key={`${contract.node}:${contract.kind}`} className="card contract">
            <summary>
              <strong>{contract.node}</strong>
              <span className="badge">{contract.kind}</span>
              <span className="soft">{contract.summary}</span>
            </summary>
            <JsonView value={contract.contract} label={`Contract of ${contract.node}`} />
          </details>
        ))}
      </section>
    </div>
  );
}
