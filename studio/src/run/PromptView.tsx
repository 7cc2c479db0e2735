// What a model was asked, as blocks: where each part comes from, who may see it, whether it was cached; and what the
// rules said about it.
import { Fragment, useState } from "react";
import type { AskedPrompt, Block, Place, RunView, Turn } from "../api/contract";
import { address } from "../app/route";
import { Icon } from "../design/Icon";
import { Segments } from "../design/Segments";
import { Notice } from "../design/States";
import { grouped, tokens } from "./amounts";
import { colourings, describe, messagesOf, shareOf, toneOf, type Colouring } from "./blocks";
import { OriginLink } from "./OriginLink";
import "./prompt.css";

type Source = RunView["source"];
type Shape = "text" | "blocks";

interface PromptViewProps {
  questions: readonly AskedPrompt[];
  source: Source;
  places: Record<string, Place>;
}

export function PromptView({ questions, source }: PromptViewProps) {
  const [colouring, setColouring] = useState<Colouring>("provenance");
  const [shape, setShape] = useState<Shape>("text");
  if (questions.length === 0) {
    return (
      <p className="soft">
        No prompts were kept for this step. The project&apos;s journal settings say whether they are.
      </p>
    );
  }
  return (
    <div className="stack">
      <Legend questions={questions} colouring={colouring} onColouring={setColouring} shape={shape} onShape={setShape} />
      {questions.map((question, index) => (
        <QuestionView
          key={index}
          question={question}
          source={source}
          colouring={colouring}
          shape={shape}
          numbered={questions.length > 1}
        />
      ))}
    </div>
  );
}

interface LegendProps {
  questions: readonly AskedPrompt[];
  colouring: Colouring;
  onColouring: (colouring: Colouring) => void;
  shape: Shape;
  onShape: (shape: Shape) => void;
}

function Legend({ questions, colouring, onColouring, shape, onShape }: LegendProps) {
  const used = new Set(questions.flatMap((question) => question.blocks.map((block) => toneOf(block, colouring))));
  const { tones } = colourings[colouring];
  return (
    <div className="legend">
      <Segments
        label="Colour blocks by"
        segments={(Object.keys(colourings) as Colouring[]).map((id) => ({ id, title: colourings[id].title }))}
        current={colouring}
        onChange={onColouring}
      />
      <Segments
        label="Show blocks as"
        segments={[
          { id: "text", title: "As text" },
          { id: "blocks", title: "One by one" },
        ]}
        current={shape}
        onChange={onShape}
      />
      <ul className="row wrap">
        {Object.entries(tones)
          .filter(([tone]) => used.has(tone))
          .map(([tone, title]) => (
            <li key={tone} className={`key tone-${tone}`}>
              <span className="swatch" aria-hidden="true" />
              {title}
            </li>
          ))}
      </ul>
    </div>
  );
}

interface QuestionViewProps {
  question: AskedPrompt;
  source: Source;
  colouring: Colouring;
  shape: Shape;
  numbered: boolean;
}

function QuestionView({ question, source, colouring, shape, numbered }: QuestionViewProps) {
  return (
    <article className="question stack">
      <header className="row wrap">
        {numbered && <code>{question.path}</code>}
        <strong>
          {question.provider}/{question.model}
        </strong>
        {question.tokens !== null && (
          <span className="soft">
            {tokens(question.tokens)}
            {question.budget === null ? "" : ` of ${grouped(question.budget)}`}
          </span>
        )}
        {question.prompt_ir !== null && (
          <code className="faint" title={`sha256 ${question.prompt_ir.hash}`}>
            {question.prompt_ir.ir_id}
          </code>
        )}
        <Verdict question={question} />
      </header>
      {question.verdict.violations.map((violation, index) => (
        <Notice key={index} tone={violation.denies ? "bad" : "warn"}>
          <span className="badge">{violation.policy}</span> {violation.text}
        </Notice>
      ))}
      <Shares blocks={question.blocks} colouring={colouring} />
      {shape === "text" ? (
        <Messages blocks={question.blocks} source={source} colouring={colouring} />
      ) : (
        <ol className="blocks">
          {question.blocks.map((block) => (
            <BlockView
              key={block.index}
              block={block}
              source={source}
              colouring={colouring}
              gate={question.gate.filter((each) => each.block === block.index)}
            />
          ))}
        </ol>
      )}
      <Chain question={question} />
      {question.turns.map((turn, index) => (
        <TurnView key={turn.number} turn={turn} place={index + 1} />
      ))}
    </article>
  );
}

function Verdict({ question }: { question: AskedPrompt }) {
  const { approved, stage } = question.verdict;
  return (
    <span className={`badge ${approved ? "good" : "bad"}`}>
      <Icon name={approved ? "check" : "lock"} />
      {approved ? "approved by governance" : `refused${stage === null ? "" : ` at ${stage}`}`}
    </span>
  );
}

/** The blocks as one bar, each as wide as its share of the tokens. */
function Shares({ blocks, colouring }: { blocks: readonly Block[]; colouring: Colouring }) {
  return (
    <div className="shares" aria-hidden="true">
      {blocks.map((block) => (
        <div
          key={block.index}
          className={`tone-${toneOf(block, colouring)}`}
          style={{ flexGrow: shareOf(block) }}
          title={`${block.name ?? block.type}: ${block.tokens ?? "?"} tokens`}
        />
      ))}
    </div>
  );
}

interface MessagesProps {
  blocks: readonly Block[];
  source: Source;
  colouring: Colouring;
}

/** The prompt as it reads, each block in its colour; a block leads to its line. */
function Messages({ blocks, source, colouring }: MessagesProps) {
  return (
    <ol className="blocks">
      {messagesOf(blocks).map((message) => (
        <li key={message[0]?.index} className="message">
          <header>
            <strong>{message[0]?.role}</strong>
            <span className="faint">{message[0]?.type === "text" ? "" : message[0]?.type}</span>
          </header>
          <pre className="block-text">
            {message.map((block) => (
              <Fragment key={block.index}>
                <Piece block={block} source={source} tone={toneOf(block, colouring)} />
              </Fragment>
            ))}
          </pre>
        </li>
      ))}
    </ol>
  );
}

function Piece({ block, source, tone }: { block: Block; source: Source; tone: string }) {
  const text = block.withheld ? "[not kept: a rule forbids it]" : block.content;
  const title = describe(block);
  if (block.origin === null || source.path === null) {
    return (
      <span className={`piece tone-${tone}`} title={title}>
        {text}
      </span>
    );
  }
  const { line, column } = block.origin;
  return (
    <a className={`piece tone-${tone}`} title={title} href={address({ page: "flow", path: source.path, line, column })}>
      {text}
    </a>
  );
}

interface BlockViewProps {
  block: Block;
  source: Source;
  colouring: Colouring;
  gate: AskedPrompt["gate"];
}

function BlockView({ block, source, colouring, gate }: BlockViewProps) {
  return (
    <li className={`block tone-${toneOf(block, colouring)}`}>
      <header>
        <strong title={block.span_id ?? undefined}>{block.name ?? block.type}</strong>
        <span className="faint">{block.role}</span>
        <span className="badge tinted">{block.provenance}</span>
        {block.sensitivity !== "public" && (
          <span className={`badge ${block.sensitivity === "restricted" ? "bad" : "warn"}`}>{block.sensitivity}</span>
        )}
        {block.cache !== "none" && <span className="badge info">cache {block.cache}</span>}
        {block.stable && <span className="badge">stable</span>}
        {gate.map((each) => (
          <span key={each.rule} className="badge warn" title={each.rule}>
            {each.action}: {each.label}
          </span>
        ))}
        <span className="grow" />
        {block.tokens !== null && <span className="faint">{tokens(block.tokens)}</span>}
        <OriginLink source={source} place={block.origin} />
      </header>
      {block.withheld ? (
        <p className="soft">Not kept: a rule forbids it.</p>
      ) : (
        <pre className="block-text">{block.content}</pre>
      )}
      {block.truncated && <p className="faint">The rest is not kept.</p>}
    </li>
  );
}

function Chain({ question }: { question: AskedPrompt }) {
  const { transformations, cuts } = question;
  if (transformations.length + cuts.length === 0) return null;
  return (
    <section>
      <h3>What was done to it</h3>
      <ol className="chain">
        {transformations.map((step, index) => (
          <li key={index}>
            <code>{step.plugin}</code> {step.what}
            <span className="soft"> {step.detail}</span>
            {step.before_hash !== undefined && step.after_hash !== undefined && (
              <code className="faint">
                {" "}
                {step.before_hash} → {step.after_hash}
              </code>
            )}
          </li>
        ))}
        {cuts.map((cut, index) => (
          <li key={`cut${index}`}>
            <span className="badge warn">cut</span> <code>{cut.section}</code>, {grouped(cut.tokens)} tokens: {cut.reason}
          </li>
        ))}
      </ol>
    </section>
  );
}

function TurnView({ turn, place }: { turn: Turn; place: number }) {
  return (
    <section className="turn">
      <header className="row wrap">
        <h3>Reply {place}</h3>
        {turn.stop !== null && <span className="faint">{turn.stop}</span>}
        <span className="grow" />
        {turn.usage !== null && (
          <span className="faint">
            {grouped(turn.usage.input_tokens)} in, {grouped(turn.usage.output_tokens)} out
            {turn.usage.cache_read_tokens > 0 && `, ${grouped(turn.usage.cache_read_tokens)} from cache`}
          </span>
        )}
      </header>
      {turn.text !== null && turn.text !== "" && <pre className="block-text">{turn.text}</pre>}
      {turn.tool_calls.map((call, index) => (
        <div key={index} className="tool">
          <Icon name="tool" /> calls <code>{call.name}</code>
          <pre className="block-text">{call.arguments}</pre>
        </div>
      ))}
      {turn.tool_results.map((result, index) => (
        <div key={index} className="tool">
          <Icon name="back" /> <code>{result.name}</code> {result.is_error ? "failed" : "answers"}
          <pre className="block-text">{result.text}</pre>
        </div>
      ))}
    </section>
  );
}
