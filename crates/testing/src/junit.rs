//! Results as JUnit XML, which build servers read.

use std::fmt::Write;

use stave_picture::escaped;

use super::{Suite, TestResult};

/// The results of suites as one document.
pub fn render(suites: &[Suite]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for suite in suites {
        let failures = suite.results.iter().filter(|result| !result.passed()).count();
        let seconds: f64 = suite.results.iter().map(|result| result.took.as_secs_f64()).sum();
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" time=\"{seconds:.3}\">",
            escaped(&suite.flow),
            suite.results.len()
        );
        for result in &suite.results {
            case(&mut xml, &suite.flow, result);
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn case(xml: &mut String, flow: &str, result: &TestResult) {
    let (name, seconds) = (escaped(&result.name), result.took.as_secs_f64());
    let _ =
        write!(xml, "    <testcase classname=\"{}\" name=\"{name}\" time=\"{seconds:.3}\"", escaped(flow));
    if result.passed() && result.notes.is_empty() {
        xml.push_str("/>\n");
        return;
    }
    xml.push_str(">\n");
    if let Some(first) = result.problems.first() {
        let first = escaped(first.lines().next().unwrap_or_default());
        let all = escaped(&result.problems.join("\n"));
        let _ = writeln!(xml, "      <failure message=\"{first}\">{all}</failure>");
    }
    if !result.notes.is_empty() {
        let _ = writeln!(xml, "      <system-out>{}</system-out>", escaped(&result.notes.join("\n")));
    }
    xml.push_str("    </testcase>\n");
}
