//! Patterns of paths: `*` and `?` within a name, `**` over folders, `[a-c]`, `{a,b}`. A name that begins with a dot is
//! matched only by a part that names the dot.

/// How many alternatives the braces of a pattern may have.
const MOST_ALTERNATIVES: usize = 16;

/// A pattern of paths below a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    /// The parts of each alternative.
    alternatives: Vec<Vec<String>>,
}

impl PathPattern {
    #[must_use]
    pub fn parse(pattern: &str) -> PathPattern {
        let parts = |pattern: String| {
            pattern.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect()
        };
        PathPattern { alternatives: alternatives(pattern).into_iter().map(parts).collect() }
    }

    /// Whether the names of a path match, the folders first.
    #[must_use]
    pub fn matches(&self, names: &[String]) -> bool {
        self.alternatives.iter().any(|parts| matches(parts, names))
    }

    /// Whether a path with `/` between its names matches. A path that leaves its folder matches nothing.
    #[must_use]
    pub fn matches_path(&self, path: &str) -> bool {
        let names: Vec<String> =
            path.split('/').filter(|name| !matches!(*name, "" | ".")).map(str::to_owned).collect();
        !path.starts_with('/') && !names.iter().any(|name| name == "..") && self.matches(&names)
    }
}

/// A pattern without its first braces, once for each of their alternatives; a pattern has a few at most.
fn alternatives(pattern: &str) -> Vec<String> {
    if let Some((before, rest)) = pattern.split_once('{')
        && let Some((inside, after)) = rest.split_once('}')
    {
        return inside
            .split(',')
            .take(MOST_ALTERNATIVES)
            .map(|one| format!("{before}{one}{after}"))
            .collect();
    }
    vec![pattern.to_owned()]
}

/// Whether the parts of a pattern match the names of a path, `**` standing for any number of folders.
fn matches(pattern: &[String], names: &[String]) -> bool {
    // reachable[n]: the pattern so far matches the first n names.
    let mut reachable = vec![false; names.len() + 1];
    reachable[0] = true;
    for part in pattern {
        let mut next = vec![false; names.len() + 1];
        for at in 0..=names.len() {
            if !reachable[at] {
                continue;
            }
            if part == "**" {
                // Hidden folders and files are named or not matched at all.
                let seen = names[at..].iter().take_while(|name| !name.starts_with('.')).count();
                next[at..=at + seen].fill(true);
                continue;
            }
            if let Some(name) = names.get(at) {
                next[at + 1] |= matches_name(part, name);
            }
        }
        reachable = next;
    }
    reachable[names.len()]
}

fn matches_name(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let name: Vec<char> = name.chars().collect();
    let mut reachable = vec![false; name.len() + 1];
    reachable[0] = true;
    let mut signs = pattern.chars().peekable();
    while let Some(sign) = signs.next() {
        let mut next = vec![false; name.len() + 1];
        if sign == '*' {
            if let Some(first) = reachable.iter().position(|is| *is) {
                next[first..].fill(true);
            }
        } else {
            let set: Option<String> =
                (sign == '[').then(|| signs.by_ref().take_while(|sign| *sign != ']').collect());
            for at in 0..name.len() {
                let fits = match &set {
                    Some(set) => in_set(set, name[at]),
                    None => sign == '?' || sign == name[at],
                };
                next[at + 1] = reachable[at] && fits;
            }
        }
        reachable = next;
    }
    reachable[name.len()]
}

fn in_set(set: &str, letter: char) -> bool {
    let (negated, set) = match set.strip_prefix(['!', '^']) {
        Some(rest) => (true, rest),
        None => (false, set),
    };
    let signs: Vec<char> = set.chars().collect();
    let mut found = false;
    let mut at = 0;
    while at < signs.len() {
        if at + 2 < signs.len() && signs[at + 1] == '-' {
            found |= (signs[at]..=signs[at + 2]).contains(&letter);
            at += 3;
        } else {
            found |= signs[at] == letter;
            at += 1;
        }
    }
    found != negated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_names_and_folders() {
        let fits = |pattern: &str, path: &str| PathPattern::parse(pattern).matches_path(path);
        for (pattern, path) in [
            ("src/*.rs", "src/a.rs"),
            ("src/**/*.rs", "src/a.rs"),
            ("src/**/*.rs", "src/a/b/c.rs"),
            ("**/notes.md", "notes.md"),
            ("src/[a-c]?.py", "src/b1.py"),
            ("src/[!a]*.py", "src/b.py"),
            ("src/*.{rs,py}", "src/x.py"),
            ("a*b*c", "aXbYc"),
        ] {
            assert!(fits(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("src/*.rs", "src/a/b.rs"),
            ("src/*", "src/.env"),
            ("*.rs", "src/a.rs"),
            ("src/[a-c].py", "src/d.py"),
            ("a*b", "ac"),
            ("**", "../a"),
            ("**", ".env"),
            ("**", "a/.git/config"),
            ("**/config", ".git/config"),
            ("**", "/etc/passwd"),
            ("docs/**", "docs/../secret.md"),
        ] {
            assert!(!fits(pattern, path), "{pattern} {path}");
        }
    }
}
