//! Paths in a reference, and whether they lie under a protected place.
//!
//! A path is brought to one form: folded like any text, percent signs and variables replaced, one kind of
//! separator, no `.` and `..`, no device prefix, no alternate stream. A path that climbs above its start
//! may be anywhere, so it counts as one from the root.

use super::plain::Plain;
use super::words::letters_and_figures;
use super::{backup, encoded};

/// A protected place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct PathPattern {
    /// Protected wherever it is, not only at the root.
    anywhere: bool,
    components: Vec<String>,
}

/// One path in its one form.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    from_root: bool,
    components: Vec<String>,
}

impl PathPattern {
    /// The place that a policy names, or `None` when the pattern is no path. A place begins at a root
    /// (`/etc/`, `C:\Windows\`, `~/.ssh/`) or, after `**/`, anywhere.
    pub(in super::super) fn new(written: &str) -> Option<Self> {
        let (anywhere, path) = match written.strip_prefix("**/") {
            Some(path) => (true, path),
            None => (false, written),
        };
        let place = place(&Plain::new(path).text)?;
        ((anywhere || place.from_root) && !place.components.is_empty())
            .then_some(PathPattern { anywhere, components: place.components })
    }

    fn covers(&self, place: &Place) -> bool {
        // Below a folder that is spelt out, a wildcard is meant to reach what the folder holds.
        let is_first = |index: usize| self.anywhere && index == 0;
        let begins = |components: &[String]| {
            let mut pairs = self.components.iter().zip(components).enumerate();
            components.len() >= self.components.len()
                && pairs.all(|(index, (wanted, given))| {
                    let is_wanted = |given: &str| match is_first(index) {
                        true => is_same_name(wanted, given),
                        false => is_same(wanted, given),
                    };
                    // A copy of a protected file holds the same.
                    is_wanted(given) || (self.anywhere && backup::originals(given).into_iter().any(is_wanted))
                })
        };
        if self.anywhere {
            return (0..place.components.len()).any(|from| place.components.get(from..).is_some_and(begins));
        }
        place.from_root && begins(&place.components)
    }

    /// The place that a relative path names, wherever it is.
    pub(in super::super) fn anywhere(written: &str) -> Option<Self> {
        PathPattern::new(&format!("**/{written}"))
    }

    /// Whether a reference names something under this place, and not under an allowed one.
    pub(in super::super) fn matches(&self, paths: &Paths, allowed: &[PathPattern]) -> bool {
        let is_allowed = |place: &Place| allowed.iter().any(|allowed| allowed.covers(place));
        paths.places.iter().any(|place| self.covers(place) && !is_allowed(place))
    }
}

impl PathPattern {
    /// What the letters of every plain reference hold that this place covers; `None` when it covers none. A
    /// plain reference is not from a root.
    pub(in super::super) fn needle(&self) -> Option<String> {
        let first = self.components.first().filter(|_| self.anywhere)?;
        Some(letters_and_figures(first))
    }
}

/// Whether a reference can only name places below where it starts, by names that begin with a letter, a
/// digit, `-` or `_`.
pub(in super::super) fn is_plain_reference(text: &str) -> bool {
    let path = ["file:", "diff:", "memory:"].iter().find_map(|prefix| text.strip_prefix(prefix));
    let mut before = b' ';
    path.unwrap_or(text).bytes().all(|byte| {
        let begins = matches!(before, b' ' | b'/');
        before = byte;
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b' ' => true,
            b'.' | b'/' => !begins,
            _ => false,
        }
    })
}

/// The only places that references may name.
#[derive(Debug)]
pub(in super::super) struct Places(Vec<Place>);

impl Places {
    pub(in super::super) fn new(written: &[String]) -> Self {
        Places(written.iter().filter_map(|path| place(&Plain::new(path).text)).collect())
    }

    /// Whether everything a reference could name lies in one of these places.
    pub(in super::super) fn hold(&self, paths: &Paths) -> bool {
        let holds = |place: &Place| {
            self.0.iter().any(|root| {
                root.from_root == place.from_root && place.components.starts_with(&root.components)
            })
        };
        paths.whole.iter().all(holds)
    }
}

/// Everything in a reference that could be a path.
#[derive(Debug, Default)]
pub(in super::super) struct Paths {
    places: Vec<Place>,
    /// Those of the reference as a whole, without those of the words in it.
    whole: Vec<Place>,
}

impl Paths {
    pub(in super::super) fn of(reference: &str) -> Paths {
        let mut texts = vec![Plain::new(reference).text];
        if let Some(placed) = encoded::decoded(reference) {
            texts.push(Plain::fold(placed.into_iter(), reference.len()).text);
        }
        let mut paths = Paths::default();
        for text in &texts {
            paths.whole.extend(place(text));
            paths.add(text);
            let separators = [' ', '"', '\'', '`', '=', ',', ';', '|', '<', '>', '(', ')', '&', '#'];
            for word in text.split(separators).filter(|word| word.len() < text.len()) {
                paths.add(word);
            }
        }
        paths
    }

    fn add(&mut self, text: &str) {
        let Some(found) = place(text) else { return };
        // `/proc/self/root` leads to the root again, and so does macOS's `/private`.
        let inner =
            found.components.iter().position(|component| component == "root" || component == "private");
        if let (true, Some(at)) = (found.from_root, inner) {
            let components = found.components.get(at + 1..).unwrap_or_default().to_vec();
            let is_link = at == 0 || found.components.first().is_some_and(|first| first == "proc");
            if is_link
                && !components.is_empty()
                && found.components.get(at).is_some_and(|link| at > 0 || link == "private")
            {
                self.places.push(Place { from_root: true, components });
            }
        }
        self.places.push(found);
    }
}

/// The one form of a folded path, or `None` for what is no path on this machine.
fn place(folded: &str) -> Option<Place> {
    let mut text = folded.trim_matches([' ', '"', '\'', '`']).replace('\\', "/");
    for (variable, value) in [
        ("%systemroot%", "c:/windows"),
        ("%windir%", "c:/windows"),
        ("$env:systemroot", "c:/windows"),
        ("$env:windir", "c:/windows"),
        ("${systemroot}", "c:/windows"),
        ("${windir}", "c:/windows"),
        ("$windir", "c:/windows"),
        ("%systemdrive%", "c:"),
        ("%userprofile%", "~"),
        ("${home}", "~"),
        ("$home", "~"),
    ] {
        if text.contains(variable) {
            text = text.replace(variable, value);
        }
    }
    let mut rest = text.as_str();
    // Prefixes that say how to read the path, in any number; a single letter is a drive.
    while let Some((scheme, after)) = rest.split_once(':') {
        let is_scheme = scheme.len() > 1
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        if !is_scheme {
            break;
        }
        if let Some(host) = after.strip_prefix("//") {
            if !matches!(scheme, "file" | "vscode" | "jar") {
                return None;
            }
            rest = match host.split_once('/') {
                // An editor's address has the scheme again where others have a host.
                Some(("" | "localhost" | "127.0.0.1" | "." | "?" | "file", path)) => path,
                _ => host,
            };
            return Some(components(rest, true, true));
        }
        rest = after.trim_start();
    }
    if rest.is_empty() {
        return None;
    }
    let from_root = rest.starts_with('/');
    Some(components(rest, from_root, rest.starts_with("//")))
}

fn components(path: &str, from_root: bool, has_host: bool) -> Place {
    let mut out = Place { from_root, components: Vec::new() };
    let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
    // `//?/C:/x`, `//./C:/x` and `//host/c$/x` are other names of a drive.
    if has_host {
        while parts
            .peek()
            .is_some_and(|part| matches!(*part, "?" | "." | "globalroot" | "unc" | "localhost" | "127.0.0.1"))
        {
            parts.next();
        }
    }
    for part in parts {
        let drive = part.strip_suffix(':').or_else(|| part.strip_suffix('$'));
        if out.components.is_empty() && drive.is_some_and(|letter| letter.len() == 1) {
            out.from_root = true;
            continue;
        }
        // `c:windows` is in the drive's current folder, which may be its root.
        let part = match part.split_once(':') {
            Some((drive, after)) if out.components.is_empty() && drive.len() == 1 && !after.is_empty() => {
                out.from_root = true;
                after
            }
            Some((name, _)) if !name.is_empty() => name,
            _ => part,
        };
        let part = if part.chars().all(|sign| matches!(sign, '.' | ' ')) {
            part.trim()
        } else {
            part.trim_end_matches(['.', ' '])
        };
        match part {
            "" | "." => {}
            ".." => {
                if out.components.pop().is_none() {
                    out.from_root = true;
                }
            }
            "~" if out.components.is_empty() => {
                out.from_root = true;
                out.components.push("~".to_owned());
            }
            _ => out.components.push(part.to_owned()),
        }
    }
    // Windows drives inside other systems.
    let mounted = match out.components.as_slice() {
        [mount, drive, ..]
            if out.from_root && matches!(mount.as_str(), "mnt" | "cygdrive") && drive.len() == 1 =>
        {
            2
        }
        [drive, next, ..] if out.from_root && drive.len() == 1 && next == "windows" => 1,
        _ => 0,
    };
    out.components.drain(..mounted);
    out
}

/// Endings of files that go with protected ones and hold no secrets: templates for people to copy, and public keys.
const SHOWN_FORMS: [&str; 5] = ["example", "sample", "template", "dist", "pub"];

/// Whether a component of a path is, or as a wildcard could be, the wanted one.
fn is_same(wanted: &str, given: &str) -> bool {
    if wanted == given {
        return true;
    }
    // A policy's own wildcard: `.env*` is every name that begins like this.
    if let Some(beginning) = wanted.strip_suffix('*') {
        let form = given.strip_prefix(beginning).map(|rest| rest.trim_start_matches(['.', '-', '_']));
        // Only keys have a public part.
        let is_shown =
            |form: &str| SHOWN_FORMS.contains(&form) && (form != "pub" || !beginning.starts_with('.'));
        if form.is_some_and(is_shown) {
            return false;
        }
        let literal = given.split(['*', '?', '[', '{']).next().unwrap_or_default();
        let is_wildcard = literal.len() < given.len();
        return given.starts_with(beginning)
            || is_wildcard && beginning.starts_with(literal) && is_most(literal.len(), beginning)
            || alternatives(given).any(|one| one.starts_with(beginning));
    }
    if let Some((stem, number)) = given.split_once('~')
        && !stem.is_empty()
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        return wanted.len() > 8 && wanted.starts_with(stem);
    }
    if given.contains('{') && alternatives(given).any(|one| one == wanted) {
        return true;
    }
    given.contains(['*', '?', '[', '{']) && could_match(wanted, given)
}

/// The same for a name that is protected wherever it is. Every wildcard could match such a name, so one counts only
/// when it spells out most of it. What the wildcard really matched is judged once it is known.
fn is_same_name(wanted: &str, given: &str) -> bool {
    let is_wildcard = given.contains(['*', '?', '[', '{']);
    if wanted == given || !is_wildcard || wanted.ends_with('*') {
        return is_same(wanted, given);
    }
    alternatives(given).any(|one| one == wanted)
        || is_most(spelt_out(given), wanted) && could_match(wanted, given)
}

/// Whether this many bytes are more than half of a name.
fn is_most(count: usize, name: &str) -> bool {
    count * 2 > name.len()
}

/// The alternatives in a wildcard's braces.
fn alternatives(wildcard: &str) -> impl Iterator<Item = &str> {
    let inside = wildcard.split_once('{').map_or("", |(_, rest)| rest);
    inside.split_once('}').map_or(inside, |(inside, _)| inside).split(',')
}

/// How many bytes of a wildcard stand for themselves.
fn spelt_out(wildcard: &str) -> usize {
    let mut is_inside = false;
    let own = wildcard.chars().filter(|sign| {
        match sign {
            '[' | '{' => is_inside = true,
            ']' | '}' => {
                is_inside = false;
                return false;
            }
            _ => {}
        }
        !is_inside && !matches!(sign, '*' | '?')
    });
    own.map(char::len_utf8).sum()
}

/// Whether a wildcard could match a name. What is in brackets or braces may be anything; the work is
/// bounded by the wildcard's length times that of the name.
fn could_match(name: &str, wildcard: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let mut reachable = vec![false; name.len() + 1];
    if let Some(first) = reachable.first_mut() {
        *first = true;
    }
    let mut signs = wildcard.chars();
    while let Some(sign) = signs.next() {
        let any = match sign {
            '*' => None,
            '[' => {
                signs.by_ref().take_while(|sign| *sign != ']').for_each(drop);
                Some(None)
            }
            '{' => {
                signs.by_ref().take_while(|sign| *sign != '}').for_each(drop);
                None
            }
            '?' => Some(None),
            letter => Some(Some(letter)),
        };
        let next = match any {
            None => {
                let first = reachable.iter().position(|is| *is).unwrap_or(reachable.len());
                (0..reachable.len()).map(|at| at >= first).collect()
            }
            Some(wanted) => {
                let step = |at: usize| {
                    let before = at.checked_sub(1)?;
                    let letter = name.get(before)?;
                    Some(*reachable.get(before)? && wanted.is_none_or(|wanted: char| wanted == *letter))
                };
                (0..reachable.len()).map(|at| step(at).unwrap_or(false)).collect::<Vec<bool>>()
            }
        };
        reachable = next;
    }
    reachable.last().copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_protected_place_is_found() {
        let etc = PathPattern::new("/etc/").unwrap();
        for reference in [
            "file:/etc/passwd",
            "file:/ETC/passwd",
            "file:/etc",
            "file:///etc/passwd",
            "file://localhost/etc/passwd",
            "FILE:/etc/x",
            " file:/etc/x",
            "file:./../../etc/passwd",
            "file:src/../../etc/passwd",
            "file://etc/passwd",
            "file:/usr/../etc/passwd",
            "file:/./etc//passwd",
            r"file:\etc\passwd",
            "file:/%65tc/passwd",
            "file:%2e%2e/%2e%2e/etc/passwd",
            "file:..%252f..%252fetc%252fpasswd",
            "file:..%c0%afetc%c0%afpasswd",
            "file:/\u{435}tc/passwd",
            "file:/e\u{200b}tc/passwd",
            "file:／etc／passwd",
            "file:/proc/self/root/etc/passwd",
            "file:/proc/1/root/etc/passwd",
            "file:/private/etc/passwd",
            "file:/e*c/passwd",
            "file:/e?c/passwd",
            "file:/[e]tc/passwd",
            "file:/{etc,var}/passwd",
            "see /etc/passwd",
            "diff:HEAD -- /etc/passwd",
            "memory:/etc/x",
            "url:file:///etc/passwd",
        ] {
            assert!(etc.matches(&Paths::of(reference), &[]), "{reference}");
        }
        let windows = PathPattern::new(r"C:\Windows\System32\").unwrap();
        for reference in [
            r"file:C:\Windows\System32\x",
            "file:c:/windows/system32/config/sam",
            "file:C:/Windows/./System32/x",
            r"file:\\?\C:\Windows\System32\x",
            r"file:\\localhost\c$\windows\system32\x",
            "file:/mnt/c/Windows/System32/x",
            "file:/c/Windows/System32/x",
            "file:%SystemRoot%/System32/x",
            "file:D:/Windows/System32",
            "file:C:/Windows/System32./x",
            "file:C:/Windows/System32::$DATA",
            "file:///C:/Windows/System32/x",
            "file:C:/Users/../Windows/System32/x",
            "file:C:Windows/System32/x",
        ] {
            assert!(windows.matches(&Paths::of(reference), &[]), "{reference}");
        }
        let ssh = PathPattern::new("**/.ssh/").unwrap();
        for reference in
            ["file:~/.ssh/id_rsa", "file:.ssh/id_rsa", "file:$HOME/.ssh/x", "file:/home/a/.ssh/x"]
        {
            assert!(ssh.matches(&Paths::of(reference), &[]), "{reference}");
        }
    }

    #[test]
    fn a_wildcard_at_the_end_of_a_place_covers_every_name_that_begins_like_it() {
        let pattern = PathPattern::new("**/.env.*").unwrap();
        for reference in [
            "file:.env.production",
            "file:deploy/.env.local",
            "file:/home/ada/app/.ENV.Staging",
            "file:.env.*",
            "file:.en*",
        ] {
            assert!(pattern.matches(&Paths::of(reference), &[]), "{reference}");
        }
        for reference in [
            "file:.env.example",
            "file:.envrc",
            "file:src/*.rs",
            "file:src/env.production",
            "file:environment.md",
        ] {
            assert!(!pattern.matches(&Paths::of(reference), &[]), "{reference}");
        }
    }

    #[test]
    fn a_glob_is_denied_when_it_spells_out_a_protected_name() {
        let patterns = ["**/.ssh/", "**/.npmrc", "**/.env*", "**/id_rsa*", "**/.docker/config.json", "/etc/"]
            .map(|path| PathPattern::new(path).unwrap());
        let is_denied =
            |reference: &str| patterns.iter().any(|pattern| pattern.matches(&Paths::of(reference), &[]));
        for reference in [
            "file:**/.ssh/*",
            "file:**/.ss?/config",
            "file:{.ssh,src}/*",
            "file:a/{b,.npmrc}",
            "file:**/.npmr*",
            "file:**/.env*",
            "file:{.env,src}",
            "file:**/id_rsa*",
            "file:**/.docker/*.json",
            "file:/*/passwd",
            "file:src/../../*/passwd",
        ] {
            assert!(is_denied(reference), "{reference}");
        }
        for reference in [
            "file:src/**/*.rs",
            "file:**/*.rs",
            "file:src/*",
            "file:*",
            "file:**",
            "file:docs/*/x.md",
            "file:src/{a,b}.py",
            "file:src/[a-z]*.py",
            "file:src/id_*.py",
            "file:.github/**/*.yml",
            "file:config/*.json",
            "file:id_rsa.pub",
            "file:.env-example",
        ] {
            assert!(!is_denied(reference), "{reference}");
        }
    }

    #[test]
    fn copies_of_protected_files_are_protected() {
        let patterns =
            ["**/.ssh/", "**/.npmrc", "**/.env", "**/.env.*", "**/id_rsa", "**/.docker/config.json", "/etc/"]
                .map(|path| PathPattern::new(path).unwrap());
        let is_denied =
            |reference: &str| patterns.iter().any(|pattern| pattern.matches(&Paths::of(reference), &[]));
        for reference in [
            "file:.env~",
            "file:.env.pub",
            "file:.env.bak",
            "file:.env-old",
            "file:app/.env.swp",
            "file:.env.production.bak",
            "file:deploy/#.env#",
            "file:id_rsa.bak",
            "file:keys/id_rsa~",
            "file:keys/.id_rsa.swp",
            "file:keys/ID_RSA.OLD",
            "file:id_rsa (1)",
            "file:.npmrc.orig",
            "file:.npmrc_backup",
            "file:.docker/config.json.bak",
            "file:.docker.old/config.json",
            "file:.ssh.bak/config",
        ] {
            assert!(is_denied(reference), "{reference}");
        }
        for reference in [
            "file:environment.md",
            "file:environment.md.bak",
            "file:id_generator.rs",
            "file:src/id_rsa_parser.rs",
            "file:id_rsa.pub",
            "file:.env.example",
            "file:notes.bak",
            "file:env.bak",
            "file:config.json.bak",
            "file:docs/npmrc.md",
        ] {
            assert!(!is_denied(reference), "{reference}");
        }
    }

    #[test]
    fn places_that_only_look_protected_are_not() {
        let patterns = ["/etc/", "/sys/", r"C:\Windows\System32\", "**/.ssh/"]
            .map(|path| PathPattern::new(path).unwrap());
        for reference in [
            "file:repo/etc/notes.md",
            "file:etc/notes.md",
            "file:./etc/notes.md",
            "file:src/../etc/notes.md",
            "file:docs/system32.md",
            "file:windows/system32/notes.md",
            "file:/home/ada/repo/etc/notes.md",
            "file:/etcetera/notes.md",
            "file:/system/x",
            "url:https://example.com/etc/x",
            "https://example.com/sys/x",
            "file:docs/.sshrc.md",
            "file:src/*.rs",
            "diff:main",
            "memory:etc",
            "",
        ] {
            for pattern in &patterns {
                assert!(!pattern.matches(&Paths::of(reference), &[]), "{reference} {pattern:?}");
            }
        }
        for text in ["s3://production/", "secrets", ".env"] {
            assert_eq!(PathPattern::new(text), None, "{text}");
        }
    }
}
