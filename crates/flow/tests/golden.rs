//! What a person reads about broken flows: every finding with its help, one flow per snapshot.

use stave_diag::{SourceId, Sources, apply, render};
use stave_flow::{CheckOptions, load};

#[test]
fn broken_flows_are_explained() {
    insta::glob!("golden/*.{yaml,json}", |path| {
        #[expect(clippy::disallowed_methods, reason = "the snapshots' inputs are files beside this test")]
        let text = std::fs::read_to_string(path).unwrap();
        let mut sources = Sources::new();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let source = sources.add(name, text.as_str());
        let mut page = String::new();
        for found in load(source, &text, &CheckOptions::default()).diagnostics {
            page.push_str(&render::short::render(std::slice::from_ref(&found), &sources));
            for (word, line) in [("help", found.help), ("fix", found.fix.map(|fix| fix.title))] {
                page.extend(line.map(|line| format!("    {word}: {line}\n")));
            }
        }
        insta::assert_snapshot!(page);
    });
}

#[test]
fn every_fix_cures_what_it_says() {
    insta::glob!("golden/*.{yaml,json}", |path| {
        #[expect(clippy::disallowed_methods, reason = "the inputs are files beside this test")]
        let text = std::fs::read_to_string(path).unwrap();
        let source = SourceId(0);
        for found in load(source, &text, &CheckOptions::default()).diagnostics {
            let Some(fix) = &found.fix else { continue };
            let cured = apply(&text, &fix.edits).unwrap();
            let after = load(source, &cured, &CheckOptions::default());
            assert!(after.flow.is_some(), "{}: {}\n{cured}", found.message, fix.title);
            let again = after.diagnostics.iter().any(|other| {
                (other.code, &other.message, other.primary.start)
                    == (found.code, &found.message, found.primary.start)
            });
            assert!(!again, "{}: {} did not cure it", found.message, fix.title);
        }
    });
}
