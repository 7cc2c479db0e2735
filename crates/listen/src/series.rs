//! Series in Prometheus' text form.

use std::fmt::{Display, Write as _};

/// Durations in seconds, counted by buckets with these upper bounds.
#[derive(Debug, Clone)]
pub struct Histogram {
    bounds: &'static [f64],
    /// How many fell into each bucket and into none before it.
    counts: Vec<u64>,
    sum: f64,
    count: u64,
}

impl Histogram {
    #[must_use]
    pub fn new(bounds: &'static [f64]) -> Self {
        Histogram { bounds, counts: vec![0; bounds.len()], sum: 0.0, count: 0 }
    }

    pub fn observe(&mut self, seconds: f64) {
        let first = self.bounds.iter().position(|bound| seconds <= *bound);
        if let Some(count) = first.and_then(|first| self.counts.get_mut(first)) {
            *count += 1;
        }
        self.sum += seconds;
        self.count += 1;
    }

    pub fn write(&self, out: &mut String, name: &str, labels: &[(&str, &str)]) {
        let mut below = 0;
        for (count, bound) in self.counts.iter().zip(self.bounds) {
            below += count;
            let bound = bound.to_string();
            line(out, &format!("{name}_bucket"), &[labels, &[("le", &bound)]].concat(), below);
        }
        line(out, &format!("{name}_bucket"), &[labels, &[("le", "+Inf")]].concat(), self.count);
        line(out, &format!("{name}_sum"), labels, self.sum);
        line(out, &format!("{name}_count"), labels, self.count);
    }
}

/// What a series is and how it is counted.
pub fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a String does not fail.
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// One value of a series.
pub fn line(out: &mut String, name: &str, labels: &[(&str, &str)], value: impl Display) {
    let labels: Vec<String> =
        labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
    let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    let _ = writeln!(out, "{name}{labels} {value}");
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_can_not_leave_its_quotes() {
        assert_eq!(escaped("a\"} 1\nb\\"), "a\\\"} 1\\nb\\\\");
    }

    #[test]
    fn a_bucket_counts_what_the_ones_before_it_count() {
        let mut histogram = Histogram::new(&[0.1, 1.0]);
        [0.05, 0.5, 5.0].into_iter().for_each(|seconds| histogram.observe(seconds));
        let mut out = String::new();
        histogram.write(&mut out, "s", &[("path", "/")]);
        assert!(
            out.starts_with("s_bucket{path=\"/\",le=\"0.1\"} 1\ns_bucket{path=\"/\",le=\"1\"} 2\n"),
            "{out}"
        );
        assert!(out.contains("le=\"+Inf\"} 3\n") && out.contains("s_count{path=\"/\"} 3\n"), "{out}");
    }
}
