// A link to the line of the flow that something came from.
import type { Place, RunView } from "../api/contract";
import { address } from "../app/route";
import { Icon } from "../design/Icon";

interface OriginLinkProps {
  source: Pick<RunView["source"], "file" | "path">;
  place: Place | null | undefined;
  label?: string;
}

export function OriginLink({ source, place, label }: OriginLinkProps) {
  if (place === null || place === undefined) return null;
  const where = `${source.file.split("/").at(-1) ?? source.file}:${place.line}`;
  if (source.path === null) return <code className="faint">{where}</code>;
  return (
    <a
      className="origin"
      href={address({ page: "flow", path: source.path, line: place.line, column: place.column })}
      title={`Show ${source.file}:${place.line}:${place.column}`}
    >
      <Icon name="text" />
      {label ?? where}
    </a>
  );
}
