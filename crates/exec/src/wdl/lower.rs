//! A workflow to an exec document: calls become nodes, `when` a `switch` with `case` edges, and the outputs
//! a `dsl.emit` before the `finish`.

use std::collections::HashSet;

use stave_canon::{Object, Value};
use stave_diag::codes::exec as codes;
use stave_diag::{Diagnostic, SourceId, Span};
use stave_shape::Shape;

use super::bake::{bake, raw};
use super::policy::WdlPolicy;
use super::tree::WdlLocation;
use super::workflow::{WdlArgument, WdlCall, WdlStep, WdlWhen, Workflow, calls};
use super::{Dialect, condition, wdl_step_cycle};
use crate::dataflow::Origin;
use crate::verify::is_identifier;
use crate::{
    Constants, Document, DocumentEdge, DocumentGraph, DocumentMetadata, DocumentNode, FlowHeader, On, Retry,
    VERSION, manifest,
};

/// The case of a `switch` that is taken when no other is.
pub(crate) const DEFAULT_CASE: &str = "_DEFAULT";

/// The policy reference of a workflow that has no policy.
pub const NO_POLICY: &str = "none";

/// A policy and the name it is known by.
#[derive(Debug, Clone, Copy)]
pub struct PairedPolicy<'p> {
    pub policy: &'p WdlPolicy,
    pub name: &'p str,
    pub source_file: &'p str,
}

/// What an invocation adds to a workflow.
#[derive(Debug, Clone, Copy)]
pub struct LoweringOptions<'s> {
    pub policy: Option<PairedPolicy<'s>>,
    /// RFC 3339, UTC.
    pub generated_at: &'s str,
    pub source_file: &'s str,
    pub dialect: Dialect,
}

/// Lowers a workflow that has no errors. What cannot be said in a document is a diagnostic.
#[must_use]
pub fn lower(workflow: &Workflow, settings: &LoweringOptions<'_>) -> (Option<Document>, Vec<Diagnostic>) {
    let mut lowering = Lowering {
        dialect: settings.dialect,
        nodes: Vec::new(),
        edges: Vec::new(),
        taken: HashSet::new(),
        counter: 0,
        diagnostics: Vec::new(),
        source: workflow.source,
    };
    if settings.dialect == Dialect::Extended {
        lowering.taken.extend(calls(&workflow.steps).into_iter().map(|call| call.id.clone()));
    }
    let main = lowering.sequence(&workflow.steps);
    let emit = lowering.fresh("emit");
    let outputs = workflow.outputs.first().map_or(workflow.name.place, |output| output.place);
    lowering.add(plain_node(&emit, "dsl.emit", arguments(&workflow.outputs)), outputs);
    lowering.link(&main.exits, &emit);
    let finish = lowering.fresh("finish");
    lowering.add(plain_node(&finish, "finish", Object::new()), workflow.name.place);
    lowering.link(&[Exit { from: emit, case: None }], &finish);

    let constants = lowering.constants(workflow, settings.policy);
    let Lowering { nodes, edges, mut diagnostics, .. } = lowering;
    if settings.dialect == Dialect::Extended {
        diagnostics.extend(wdl_step_cycle::find(workflow, &nodes, &edges));
    }
    if diagnostics.iter().any(Diagnostic::is_error) {
        return (None, diagnostics);
    }
    let name = workflow.name.text.as_str();
    let is_slugged = settings.dialect == Dialect::Extended && !is_identifier(name);
    let document = Document {
        version: VERSION.to_owned(),
        flow: FlowHeader {
            name: if is_slugged { manifest::file_name(name) } else { name.to_owned() },
            timeout_ms: workflow.timeout_ms,
        },
        constants,
        inputs_schema: inputs_schema(workflow),
        graph: DocumentGraph { nodes, edges },
        metadata: DocumentMetadata {
            generated_at: settings.generated_at.to_owned(),
            source_file: settings.source_file.to_owned(),
            extra: Object::new(),
        },
        extra: Object::new(),
    };
    (Some(document), diagnostics)
}

/// A way out of a sequence of steps.
#[derive(Debug, Clone)]
struct Exit {
    from: String,
    case: Option<String>,
}

/// The first node of a sequence, and the ways out of it.
#[derive(Debug, Default)]
struct Segment {
    entry: Option<String>,
    exits: Vec<Exit>,
}

struct Lowering {
    dialect: Dialect,
    nodes: Vec<DocumentNode>,
    edges: Vec<DocumentEdge>,
    taken: HashSet<String>,
    /// One counter for every id that is made up.
    counter: u32,
    diagnostics: Vec<Diagnostic>,
    source: SourceId,
}

impl Lowering {
    fn sequence(&mut self, steps: &[WdlStep]) -> Segment {
        let mut whole = Segment::default();
        for step in steps {
            let segment = match step {
                WdlStep::Call(call) => self.call(call),
                WdlStep::When(when) => self.when(when),
            };
            let Some(entry) = segment.entry else { continue };
            if whole.entry.is_none() {
                whole.entry = Some(entry);
            } else {
                self.link(&whole.exits, &entry);
            }
            whole.exits = segment.exits;
        }
        whole
    }

    fn call(&mut self, call: &WdlCall) -> Segment {
        let mut node = plain_node(&call.id, &call.target, arguments(&call.arguments));
        node.timeout_ms = call.timeout_ms;
        node.retry = call.retry;
        if self.dialect == Dialect::Reference && self.taken.contains(&call.id) {
            let message = format!("step id `{}` was made up for another step", call.id);
            self.diagnostics.push(Diagnostic::new(
                codes::WDL_DUPLICATE_STEP_ID,
                self.span(call.place),
                message,
            ));
        }
        self.add(node, call.place);
        Segment { entry: Some(call.id.clone()), exits: vec![Exit { from: call.id.clone(), case: None }] }
    }

    fn when(&mut self, when: &WdlWhen) -> Segment {
        let condition = match condition::read(&when.condition) {
            Ok(condition) => condition,
            Err(message) => {
                let span = self.span(when.condition.place);
                self.diagnostics.push(Diagnostic::new(codes::WDL_BAD_CONDITION, span, message));
                return Segment::default();
            }
        };
        let id = self.fresh("when");
        let mut with = Object::new();
        with.insert("key_from".into(), condition.key_from.into());
        with.insert("cases".into(), Value::Object(Object::new()));
        with.insert("default".into(), DEFAULT_CASE.into());
        self.add(plain_node(&id, "switch", with), when.place);
        let inside = self.sequence(&when.steps);
        let Some(entry) = inside.entry else {
            let message = "this `when` has no steps";
            self.diagnostics.push(Diagnostic::new(codes::WDL_EMPTY_BRANCH, self.span(when.place), message));
            return Segment::default();
        };
        for case in &condition.cases {
            self.edge(&id, &entry, Some(case));
        }
        let mut exits = inside.exits;
        exits.push(Exit { from: id.clone(), case: Some(DEFAULT_CASE.to_owned()) });
        Segment { entry: Some(id), exits }
    }

    fn link(&mut self, exits: &[Exit], to: &str) {
        for exit in exits {
            self.edge(&exit.from, to, exit.case.as_deref());
        }
    }

    /// Adds an edge; one with a case is written into the cases of its `switch` too, the first of a case
    /// counts.
    fn edge(&mut self, from: &str, to: &str, case: Option<&str>) {
        let mut extra = Object::new();
        if let Some(case) = case {
            extra.insert("case".into(), case.into());
            let switch = self.nodes.iter_mut().find(|node| node.id == from);
            let cases = switch.and_then(|node| node.with.get_mut("cases")).and_then(Value::as_object_mut);
            if let Some(cases) = cases {
                cases.entry(case.to_owned()).or_insert_with(|| to.into());
            }
        }
        self.edges.push(DocumentEdge { from: from.to_owned(), to: to.to_owned(), on: On::Success, extra });
    }

    fn add(&mut self, mut node: DocumentNode, place: WdlLocation) {
        if self.dialect == Dialect::Extended {
            let origin = Origin { line: place.line, column: place.column };
            node.extra.insert("origin".into(), Shape::write(&origin));
        }
        self.taken.insert(node.id.clone());
        self.nodes.push(node);
    }

    fn span(&self, place: WdlLocation) -> Span {
        Span::new(self.source, place.start, place.end)
    }

    /// An id that no step has.
    fn fresh(&mut self, prefix: &str) -> String {
        loop {
            let id = format!("{prefix}_{}", self.counter);
            self.counter += 1;
            if !self.taken.contains(&id) {
                return id;
            }
        }
    }

    /// The baked policy. A step that applies one must have one: a rule that is not there cannot hold.
    fn constants(&mut self, workflow: &Workflow, paired: Option<PairedPolicy<'_>>) -> Constants {
        let applying = calls(&workflow.steps).into_iter().find(|call| call.target.starts_with("policy."));
        match (applying, paired) {
            (Some(_), Some(paired)) => Constants {
                policy_ref: paired.name.to_owned(),
                policy: bake(paired.policy, paired.name, paired.source_file),
            },
            (Some(call), None) => {
                let message = format!("step `{}` applies a policy, and there is none", call.id);
                let help = "write the policy into a file of the same name that ends in .pdl";
                let diagnostic = Diagnostic::new(codes::WDL_MISSING_POLICY, self.span(call.place), message);
                self.diagnostics.push(diagnostic.help(help));
                Constants { policy_ref: String::new(), policy: Object::new() }
            }
            (None, _) => {
                if self.dialect == Dialect::Reference {
                    let message = "no step applies a policy";
                    self.diagnostics.push(Diagnostic::new(
                        codes::WDL_MISSING_POLICY,
                        self.span(workflow.place),
                        message,
                    ));
                }
                Constants { policy_ref: NO_POLICY.to_owned(), policy: Object::new() }
            }
        }
    }
}

fn plain_node(id: &str, kind: &str, with: Object) -> DocumentNode {
    DocumentNode {
        id: id.to_owned(),
        kind: kind.to_owned(),
        with,
        timeout_ms: 0,
        retry: Retry::default(),
        extra: Object::new(),
    }
}

fn arguments(arguments: &[WdlArgument]) -> Object {
    arguments.iter().map(|argument| (argument.name.clone(), raw(&argument.value))).collect()
}

/// Names and type texts, as they are written. This is not a JSON Schema.
fn inputs_schema(workflow: &Workflow) -> Object {
    let inputs = workflow
        .inputs
        .iter()
        .map(|input| (input.name.clone(), Value::from_iter([("type", input.type_text.as_str())])));
    inputs.collect()
}
