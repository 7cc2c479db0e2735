// All flows of the projects.
import { api } from "../api/client";
import type { FlowFile, Session } from "../api/contract";
import { Empty, Failed, Loading } from "../design/States";
import { counted } from "../document/findings";
import { useLoaded } from "./loading";
import { address } from "./route";

const load = () => api.files();

export function FilesPage({ session }: { session: Session }) {
  const { value: files, error, reload } = useLoaded(load);
  if (error !== null) return <Failed error={error} retry={reload} />;
  if (files === null) return <Loading what="Looking for flows" />;
  if (files.length === 0) {
    return (
      <Empty title="No flows here">
        <p>
          This project has no file under <code>flows/</code>. <code>stave new NAME</code> makes a project that runs at
          once.
        </p>
      </Empty>
    );
  }
  return (
    <div className="page scroll">
      <header className="page-head">
        <h1>Flows</h1>
        <span className="faint">
          {session.projects.map((project) => `${project.tenant} / ${project.repo}`).join(", ")}
        </span>
      </header>
      <ul className="files">
        {files.map((file) => (
          <li key={file.path}>
            <FileCard file={file} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function FileCard({ file }: { file: FlowFile }) {
  return (
    <a className="file card" href={address({ page: "flow", path: file.path })}>
      <div className="row wrap">
        <h2 className="grow clip">{file.name ?? file.path}</h2>
        {file.errors > 0 && <span className="badge bad">{counted({ errors: file.errors, warnings: 0, notes: 0 })}</span>}
        {file.errors === 0 && file.warnings > 0 && <span className="badge warn">{counted({ errors: 0, warnings: file.warnings, notes: 0 })}</span>}
        {file.errors === 0 && file.served !== null && <span className="badge good">served</span>}
      </div>
      <p className="soft">{file.description ?? "No description."}</p>
      <code className="faint">{file.path}</code>
    </a>
  );
}
