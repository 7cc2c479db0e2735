//! The project's policies and prompt templates, from `policies`, `templates` and `stave.toml`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stave_canon::{Object, Value};
use stave_diag::{Sources, Span};
use stave_flow::{CheckOptions, ModelCosts, ProjectRule, PromptNames, yaml};
use stave_prompt::compile::Templates;
use stave_prompt::governance::{MatchMode, PolicySet};

use crate::certain_refusals::DeniedPrompts;
use crate::exit::Stop;
use crate::files;
use crate::project::{self, Project};
use crate::services::prices;

/// The policies that every prompt of the project is judged by: the named set, or the specification's in
/// strict mode, with what `[governance]` adds.
pub fn policies(project: &Project) -> Result<PolicySet, Stop> {
    let mut file = None;
    let mut set = Object::new();
    let name = project.settings.policy.as_deref().unwrap_or("default");
    if let Some(path) = policy_file(project, name)? {
        let read = Structured::read(&path)?;
        match &read.value {
            // The specification's own form: a list of policies.
            Value::Array(policies) => {
                set.insert("policies".to_owned(), policies.clone().into());
            }
            Value::Object(members) => set = members.clone(),
            other => {
                return Err(
                    read.stop("", &format!("a policy set is a list or an object, not {}", other.kind()))
                );
            }
        }
        file = Some(read);
    }
    let read = |set: &Object| PolicySet::from_value(&Value::Object(set.clone()));
    // The file is judged alone first, so that what is wrong with it is reported at its place in it.
    if let (Some(file), Err(error)) = (&file, read(&set)) {
        let is_list = file.value.as_array().is_some();
        let fault = error.faults.first();
        let pointer = fault.map(|fault| fault.pointer.as_str()).unwrap_or_default();
        let pointer = if is_list { pointer.trim_start_matches("/policies") } else { pointer };
        return Err(file.stop(pointer, fault.map(|fault| fault.message.as_str()).unwrap_or_default()));
    }
    let settings = &project.settings.governance;
    if let Some(mode) = settings.mode {
        set.insert("mode".to_owned(), mode.word().into());
    }
    let extend = |set: &mut Object, key: &str, items: Vec<Value>| {
        let mut all = set.get(key).and_then(Value::as_array).map(<[Value]>::to_vec).unwrap_or_default();
        all.extend(items);
        set.insert(key.to_owned(), Value::Array(all));
    };
    extend(&mut set, "allow", settings.allow.iter().map(|text| text.as_str().into()).collect());
    if !settings.policies.is_empty() {
        if !set.contains_key("policies") {
            set.insert("extends".to_owned(), "default".into());
        }
        extend(&mut set, "policies", settings.policies.clone());
    }
    read(&set).map_err(|error| Stop::invalid(format!("the policies of the project: {error}")))
}

/// The policies as they are baked into documents; nothing when they are the ones that hold anyway.
pub fn baked(project: &Project) -> Result<Option<Value>, Stop> {
    let policies = policies(project)?;
    if policies == PolicySet::strict() {
        return Ok(None);
    }
    // The mode is always written, since a bare list is read as strict.
    let mut value = match policies.to_value() {
        Value::Object(members) => members,
        list => [("policies".to_owned(), list)].into_iter().collect(),
    };
    value.insert("mode".to_owned(), policies.mode().word().into());
    Ok(Some(value.into()))
}

/// A policy set in another mode than the project's, for one command.
pub fn in_mode(policies: PolicySet, mode: Option<MatchMode>) -> PolicySet {
    match mode {
        None => policies,
        // The built-in sets of the two modes differ in more than the mode.
        Some(MatchMode::Specified) if policies == PolicySet::strict() => PolicySet::specified(),
        Some(mode) => policies.with_mode(mode),
    }
}

/// The built-in templates with those of the project's `templates` folder.
pub fn templates(project: &Project) -> Result<Templates, Stop> {
    let mut templates = Templates::default();
    for path in yaml_files(&project.root.join(project::TEMPLATES))? {
        let read = Structured::read(&path)?;
        let own = Templates::from_value(&read.value).map_err(|error| {
            let fault = error.faults.first();
            let pointer = fault.map(|fault| fault.pointer.as_str()).unwrap_or_default();
            read.stop(pointer, fault.map(|fault| fault.message.as_str()).unwrap_or_default())
        })?;
        templates = templates.with(own);
    }
    Ok(templates)
}

impl Project {
    /// How the flows of the project are judged: by its settings, its templates and its output schemas.
    pub fn check_options(&self, strict: bool) -> Result<CheckOptions, Stop> {
        let templates = templates(self)?;
        let requirements = |role: &str| templates.of(role)?.requirements.as_deref().cloned();
        let prompts = PromptNames {
            templates: templates.roles().map(|role| (role.to_owned(), requirements(role))).collect(),
            schemas: templates.schemas().map(|(id, schema)| (id.to_owned(), schema.clone())).collect(),
        };
        let prices = prices(self);
        let costs = ModelCosts {
            is_priced: Arc::new(move |model| prices.of(model).is_some()),
            default_model: self.settings.default_model.as_ref().map(|model| model.name.clone()),
            limited: self.settings.budget.contains_key("cost_usd"),
        };
        let options = self.settings.check_options(strict);
        let rule: Arc<dyn ProjectRule> = Arc::new(DeniedPrompts { policies: policies(self)? });
        Ok(CheckOptions { prompts: Some(prompts), costs: Some(costs), project_rules: vec![rule], ..options })
    }
}

/// The file of a policy set. Only the set named `default` may be without one.
fn policy_file(project: &Project, name: &str) -> Result<Option<PathBuf>, Stop> {
    let plain = |sign: char| sign.is_alphanumeric() || matches!(sign, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(plain) || name.starts_with('.') {
        return Err(Stop::invalid(format!("{name:?} is not a name for a policy set"))
            .help("use letters, digits, `-` and `_`"));
    }
    let folder = project.root.join(project::POLICIES);
    let candidates = ["yaml", "yml", "json"].map(|extension| folder.join(format!("{name}.{extension}")));
    match candidates.iter().find(|path| path.is_file()) {
        Some(path) => Ok(Some(path.clone())),
        None if name == "default" => Ok(None),
        None => Err(Stop::invalid(format!("there is no policy set `{name}`"))
            .help(format!("write {}", files::shown(&candidates[0]).display()))),
    }
}

fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>, Stop> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let is_yaml = |path: &PathBuf| {
        path.extension()
            .is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known))
    };
    paths.retain(is_yaml);
    paths.sort();
    Ok(paths)
}

/// A YAML or JSON file as a value that knows its places.
struct Structured {
    sources: Sources,
    root: yaml::Tree,
    value: Value,
}

impl Structured {
    fn read(path: &Path) -> Result<Structured, Stop> {
        let text = files::read_text(path)?;
        let mut sources = Sources::new();
        let source = sources.add(files::shown(path).display().to_string(), text.as_str());
        let document = yaml::read(source, &text);
        if let Some(fault) = document.diagnostics.iter().find(|found| found.is_error()) {
            return Err(located(&sources, fault.primary, &fault.message));
        }
        let Some(root) = document.root else {
            return Err(Stop::invalid(format!("{} is empty", files::shown(path).display())));
        };
        let value = root.to_value();
        Ok(Structured { sources, root, value })
    }

    fn stop(&self, pointer: &str, message: &str) -> Stop {
        located(&self.sources, self.root.locate(pointer), message)
    }
}

fn located(sources: &Sources, span: Span, message: &str) -> Stop {
    let name = sources.name(span.source);
    let place = sources
        .place(span)
        .map_or_else(String::new, |(start, _)| format!(":{}:{}", start.line, start.column));
    Stop::invalid(format!("{name}{place}: {message}"))
}
