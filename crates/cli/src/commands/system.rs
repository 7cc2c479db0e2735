//! `stave system`: system documents shown, validated, compared, drawn, bundled and migrated.

mod graph;
mod show;

use stave_canon::Value;
use stave_system::bundle::{Bundle, BundleOptions, BundleSource, BundleVersion, specifications};
use stave_system::migrate::{dropped, migrate};
use stave_system::verify::{Concern, verify};
use stave_system::{NodeKind, Places, SystemDocument};

use crate::admission::artefacts as admission;
use crate::args::{self, SystemAction, SystemBundle, SystemMigrate, SystemValidate};
use crate::differences;
use crate::exit::{Exit, Stop};
use crate::files;
use crate::findings::{self, Findings};
use crate::system_documents as documents;
use crate::terminal::{self, Terminal};

pub(crate) fn system(arguments: &args::System, terminal: Terminal) -> Result<Exit, Stop> {
    match &arguments.action {
        SystemAction::Show(arguments) => show::show(arguments),
        SystemAction::Validate(arguments) => validate(arguments, terminal),
        SystemAction::Diff(arguments) => differences::system::diff(arguments),
        SystemAction::Graph(arguments) => graph::graph(arguments),
        SystemAction::Bundle(arguments) => bundle(arguments),
        SystemAction::Migrate(arguments) => migrated(arguments),
    }
}

fn validate(arguments: &SystemValidate, terminal: Terminal) -> Result<Exit, Stop> {
    let mut findings = Findings::default();
    for file in &arguments.files {
        let project = findings.project(file)?;
        let text = documents::read(file)?;
        if documents::is_bundle(&text) {
            let stop = Stop::invalid(format!("{} is a runtime bundle", file.display()));
            return Err(stop.help(format!("`stave bundle check {}` looks at those", file.display())));
        }
        if project.settings.signing.required {
            admission::admit(file, &text, &project)?;
        }
        let source = findings.sources.add(files::shown(file).display().to_string(), text.as_str());
        let document = match SystemDocument::from_text(&text) {
            Ok(document) => document,
            Err(error) => {
                findings.diagnostics.extend(error.diagnostics(source, &text));
                continue;
            }
        };
        let policies = findings::policies(&project, arguments.policies);
        let mut places = Places::new(source, &text);
        for finding in verify(&document) {
            let level = match finding.rule.concern() {
                Concern::Contracts => policies.operational_structure,
                Concern::Graph => policies.graph_integrity,
            };
            let code = finding.rule.code();
            findings.add(level, places.diagnostic(code, &finding.pointer, &finding.message));
        }
    }
    Ok(findings.print(arguments.json, terminal))
}

fn bundle(arguments: &SystemBundle) -> Result<Exit, Stop> {
    let document = documents::load(&arguments.file)?;
    let own = admission::project_of(&arguments.file)?.bundle_options();
    let version = arguments.schema_version.map(|number| {
        BundleVersion::of(number).ok_or_else(|| {
            Stop::invalid(format!("there is no bundle schema version {number}")).help("give 1, 2, 3 or 4")
        })
    });
    let specifications = specifications(&arguments.run_id, &document);
    let intent = document.nodes.iter().any(|node| node.kind == NodeKind::Intent);
    let intent = (intent || arguments.allow_network).then(|| stave_lower::system_intent(&document));
    let bundle = Bundle::emit(BundleSource {
        run_id: &arguments.run_id,
        document: &document,
        intent: intent.as_ref(),
        orchestration: &specifications.orchestration,
        coordination: &specifications.coordination,
        delivery_plan: None,
        options: BundleOptions {
            version: version.transpose()?.unwrap_or(own.version),
            embed_system_ir: own.embed_system_ir || arguments.embed_system_ir,
            strict_alignment: own.strict_alignment || arguments.strict_alignment,
            deploy_targets_from_ir_only: arguments.deploy_targets_from_ir_only,
            ..own
        },
    })
    .map_err(|error| {
        let stop = Stop::invalid(error.to_string());
        match intent {
            Some(_) => stop,
            None => stop.help(
                "the document has no intent; --allow-network lets its nodes use the network they declare",
            ),
        }
    })?;
    let text = bundle.to_file_text();
    match &arguments.out {
        Some(path) => {
            files::write_atomic(path, &text)?;
            terminal::error(&format!("wrote {}", path.display()));
        }
        None => terminal::out(text.trim_end()),
    }
    Ok(Exit::Fine)
}

fn migrated(arguments: &SystemMigrate) -> Result<Exit, Stop> {
    let document = documents::load(&arguments.file)?;
    let mut migration = migrate(&document);
    // A bundle's own members are not the document's.
    let text = files::read_text(&arguments.file)?;
    if !documents::is_bundle(&text)
        && let Ok(read) = stave_canon::parse_untrusted(&text)
    {
        migration.changes.extend(dropped(&read, &migration.document));
    }
    if let Some(path) = &arguments.out {
        let mut text = migration.document.to_file_text();
        text.push('\n');
        files::write_atomic(path, &text)?;
    }
    if arguments.json {
        let pairs =
            |pointer: String, message: String| Value::from_iter([("pointer", pointer), ("message", message)]);
        let changes =
            migration.changes.iter().map(|change| pairs(change.pointer.to_string(), change.what.clone()));
        let open = migration.open.iter().map(|finding| {
            let mut row = pairs(finding.pointer.to_string(), finding.message.clone());
            if let Some(row) = row.as_object_mut() {
                row.insert("code".into(), finding.rule.code().0.into());
            }
            row
        });
        let report = [
            ("fingerprint_before", Value::from(migration.fingerprint_before.as_str())),
            ("fingerprint_after", migration.fingerprint_after.as_str().into()),
            ("changes", Value::Array(changes.collect())),
            ("open", Value::Array(open.collect())),
            ("written", arguments.out.as_ref().map(|path| path.display().to_string()).into()),
        ];
        terminal::out(&Value::from_iter(report).to_string());
        return Ok(Exit::Fine);
    }
    for change in &migration.changes {
        terminal::out(&format!("{}: {}", change.pointer, change.what));
    }
    for finding in &migration.open {
        terminal::out(&format!(
            "{}: left to you: {} [{}]",
            finding.pointer,
            finding.message,
            finding.rule.code()
        ));
    }
    terminal::error(&format!("{} -> {}", migration.fingerprint_before, migration.fingerprint_after));
    match &arguments.out {
        Some(path) => terminal::error(&format!("wrote {}", path.display())),
        None => terminal::error("nothing was written; give --out FILE to keep the result"),
    }
    Ok(Exit::Fine)
}
