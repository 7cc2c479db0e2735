//! Which files hold workflows and policies, and what pairs them.

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Workflow,
    Policy,
}

impl FileKind {
    /// The kind of a file name: `.wdl` or `.pdl` in any case, with or without `.yaml` or `.yml` after it.
    #[must_use]
    pub fn of(name: &str) -> Option<FileKind> {
        match ending(name)? {
            "wdl" => Some(FileKind::Workflow),
            _ => Some(FileKind::Policy),
        }
    }
}

/// The part of a file name that a workflow and its policy share.
#[must_use]
pub fn stem(name: &str) -> &str {
    let name = without_yaml(name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn ending(name: &str) -> Option<&'static str> {
    let (stem, ending) = without_yaml(name).rsplit_once('.')?;
    if stem.is_empty() {
        return None;
    }
    ["wdl", "pdl"].into_iter().find(|known| ending.eq_ignore_ascii_case(known))
}

fn without_yaml(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((before, "yaml" | "yml")) => before,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_tell_the_kind_and_the_stem() {
        for (name, kind, wanted) in [
            ("a.wdl", Some(FileKind::Workflow), "a"),
            ("plant.monitor.WDL", Some(FileKind::Workflow), "plant.monitor"),
            ("a.wdl.yaml", Some(FileKind::Workflow), "a"),
            ("a.PDL", Some(FileKind::Policy), "a"),
            ("a.pdl.yml", Some(FileKind::Policy), "a"),
            ("a.yaml", None, "a"),
            (".wdl", None, ""),
        ] {
            assert_eq!(FileKind::of(name), kind, "{name}");
            assert_eq!(stem(name), wanted, "{name}");
        }
    }
}
