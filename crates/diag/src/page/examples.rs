//! The examples of a page: what must raise its code, and what must not.

/// The examples of one page, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Examples {
    pub bad: Vec<Example>,
    pub good: Vec<Example>,
}

/// One fenced text of the section `Example` or `Fix`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    pub kind: ExampleKind,
    pub text: String,
    /// The request of an example that is run, from the `json request` fence after it.
    pub request: Option<String>,
    /// The model replies of an example that is run, from the `yaml recording` fence after its request.
    pub recording: Option<String>,
}

/// What an example is, and so who checks it. The words after the fence say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExampleKind {
    /// `yaml`: a flow for `stave check`.
    Flow,
    /// `yaml strict`: a flow for `stave check --strict`.
    StrictFlow,
    /// `yaml run`: a flow that is run with the request after it.
    Run,
    /// `yaml run opcua`: the same in a build that reaches plants.
    RunOpcua,
    /// `json run`: an exec document that is run with the request after it.
    RunDocument,
    /// `text run bundle`: a flow and the system document that holds it, each after a line `--- path`, and then the request.
    RunBundle,
    /// `json exec`: an exec document.
    Exec,
    /// `json manifest`: a manifest of exec documents for `stave exec verify`, without the documents.
    Manifest,
    /// `json prompt`: a Prompt IR document.
    Prompt,
    /// `json system`: a system document.
    System,
    /// `json bundle`: a runtime bundle with its document inline.
    Bundle,
    /// `toml project`: a `stave.toml`.
    Project,
    /// `wdl`: a workflow.
    Workflow,
    /// `pdl`: a policy.
    Policy,
    /// `text compile`: sources for `stave compile`, each after a line `--- path`.
    Compile,
    /// Any other words. No page may hold one; a test says so.
    Unknown(String),
}

impl ExampleKind {
    fn of(words: &str) -> Self {
        match words {
            "yaml" => ExampleKind::Flow,
            "yaml strict" => ExampleKind::StrictFlow,
            "yaml run" => ExampleKind::Run,
            "yaml run opcua" => ExampleKind::RunOpcua,
            "json run" => ExampleKind::RunDocument,
            "text run bundle" => ExampleKind::RunBundle,
            "json exec" => ExampleKind::Exec,
            "json manifest" => ExampleKind::Manifest,
            "json prompt" => ExampleKind::Prompt,
            "json system" => ExampleKind::System,
            "json bundle" => ExampleKind::Bundle,
            "toml project" => ExampleKind::Project,
            "wdl" => ExampleKind::Workflow,
            "pdl" => ExampleKind::Policy,
            "text compile" => ExampleKind::Compile,
            _ => ExampleKind::Unknown(words.to_owned()),
        }
    }

    /// Whether examples of this kind are run, and so have a request.
    #[must_use]
    pub fn is_run(&self) -> bool {
        matches!(
            self,
            ExampleKind::Run | ExampleKind::RunOpcua | ExampleKind::RunDocument | ExampleKind::RunBundle
        )
    }
}

/// Reads the fenced texts of the sections `## Example`, which are bad, and `## Fix`, which are good.
#[must_use]
pub fn examples(page: &str) -> Examples {
    let mut examples = Examples::default();
    let mut section = Section::Prose;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        match line.trim_end() {
            "## Example" => section = Section::Example,
            "## Fix" => section = Section::Fix,
            heading if heading.starts_with("# ") || heading.starts_with("## ") => section = Section::Prose,
            opening => {
                let Some((fence, words)) = fence(opening) else { continue };
                let text: String = lines
                    .by_ref()
                    .take_while(|line| line.trim_end() != fence)
                    .flat_map(|line| [line, "\n"])
                    .collect();
                let list = match section {
                    Section::Prose => continue,
                    Section::Example => &mut examples.bad,
                    Section::Fix => &mut examples.good,
                };
                let run = list.last_mut().filter(|last| last.kind.is_run());
                match (words, run) {
                    ("json request", Some(Example { request: request @ None, .. })) => *request = Some(text),
                    (
                        "yaml recording",
                        Some(Example { request: Some(_), recording: recording @ None, .. }),
                    ) => {
                        *recording = Some(text);
                    }
                    _ => {
                        list.push(Example {
                            kind: ExampleKind::of(words),
                            text,
                            request: None,
                            recording: None,
                        });
                    }
                }
            }
        }
    }
    examples
}

enum Section {
    Prose,
    Example,
    Fix,
}

/// The fence itself and the words after it, when the line opens a fenced text.
pub(super) fn fence(line: &str) -> Option<(&str, &str)> {
    let length = line.len() - line.trim_start_matches('`').len();
    let (fence, words) = line.split_at_checked(length)?;
    (length >= 3).then_some((fence, words.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_both_sections_are_read() {
        let page = "# x\n\nProse.\n\n```python\nignored\n```\n\n## Example\n\n```yaml\na: 1\n\nb: 2\n```\n\n```yaml strict\nc: 3\n```\n\n\
                    ## Fix\n\n````json exec\n{\"```\": 1}\n````\n\n## See also\n\n```yaml\nno: example\n```\n";
        let example =
            |kind, text: &str| Example { kind, text: text.to_owned(), request: None, recording: None };
        assert_eq!(
            examples(page),
            Examples {
                bad: vec![
                    example(ExampleKind::Flow, "a: 1\n\nb: 2\n"),
                    example(ExampleKind::StrictFlow, "c: 3\n")
                ],
                good: vec![example(ExampleKind::Exec, "{\"```\": 1}\n")],
            }
        );
    }

    #[test]
    fn a_request_belongs_to_the_run_before_it() {
        let page = "# x\n## Example\n```yaml run\na: 1\n```\n\nwith\n\n```json request\n{}\n```\n## Fix\n```json run\n[]\n```\n```json request\n1\n```\n```json request\n{}\n```\n";
        let read = examples(page);
        assert_eq!(read.bad.len(), 1);
        assert_eq!(read.bad[0].kind, ExampleKind::Run);
        assert_eq!(read.bad[0].request.as_deref(), Some("{}\n"));
        assert_eq!(read.good[0].kind, ExampleKind::RunDocument);
        assert_eq!(read.good[0].request.as_deref(), Some("1\n"));
        assert_eq!(
            read.good[1].kind,
            ExampleKind::Unknown("json request".to_owned()),
            "a second request has no run"
        );
    }

    #[test]
    fn a_recording_belongs_to_the_run_whose_request_it_follows() {
        let page = "## Example\n```yaml run\na: 1\n```\n```json request\n{}\n```\n```yaml recording\nversion: 1\n```\n\
                    ## Fix\n```yaml\na: 1\n```\n```yaml recording\nb: 2\n```\n";
        let read = examples(page);
        assert_eq!(read.bad.len(), 1);
        assert_eq!(read.bad[0].request.as_deref(), Some("{}\n"));
        assert_eq!(read.bad[0].recording.as_deref(), Some("version: 1\n"));
        assert_eq!(read.good[0].recording, None);
        assert_eq!(
            read.good[1].kind,
            ExampleKind::Unknown("yaml recording".to_owned()),
            "a flow that is only checked asks no model"
        );
    }

    #[test]
    fn every_kind_has_its_words() {
        let known = [
            "yaml",
            "yaml strict",
            "yaml run",
            "yaml run opcua",
            "json run",
            "json exec",
            "json prompt",
            "json system",
            "json bundle",
            "toml project",
        ];
        for words in known {
            assert!(!matches!(ExampleKind::of(words), ExampleKind::Unknown(_)), "{words}");
        }
        assert_eq!(ExampleKind::of("python"), ExampleKind::Unknown("python".to_owned()));
    }

    #[test]
    fn an_open_fence_ends_with_the_page() {
        assert_eq!(examples("## Example\n```yaml\na: 1").bad[0].text, "a: 1\n");
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_read(page in "(## Example\n|## Fix\n|```|````| yaml\n|x|\n|\\PC){0,30}") {
            let _ = examples(&page);
        }
    }
}
