//! The code table: one file per part, one row per code, one page under `docs/codes/` per row.

/// Declares the codes of one part: a constant for each, and the part's slice of the table.
macro_rules! codes {
    ($line:ident: $($constant:ident = $name:literal, $severity:ident, $summary:literal;)*) => {
        $(
            #[doc = $summary]
            pub const $constant: $crate::Code = $crate::Code($name);
        )*

        pub(crate) static TABLE: &[$crate::CodeInfo] = &[$(
            $crate::CodeInfo {
                code: $constant,
                line: $crate::Line::$line,
                severity: $crate::Severity::$severity,
                summary: $summary,
                page: include_str!(concat!("../../../../docs/codes/", $name, ".md")),
            },
        )*];
    };
}

pub mod exec;
pub mod flow;
pub mod project;
pub mod prompt;
pub mod run;
pub mod script;
pub mod system;
pub mod yaml;

/// Every code, part by part.
pub static CODES: &[&[crate::CodeInfo]] = &[
    yaml::TABLE,
    flow::TABLE,
    script::TABLE,
    exec::TABLE,
    system::TABLE,
    prompt::TABLE,
    run::TABLE,
    project::TABLE,
];
