//! The file that a backup is a copy of: editors, package managers and people put endings and signs around its name.

/// Endings of copies, after `.`, `-`, `_` or a space.
const ENDINGS: [&str; 26] = [
    "bak", "back", "backup", "bk", "bkp", "old", "orig", "original", "save", "saved", "sav", "swp", "swo",
    "swn", "swx", "un~", "tmp", "temp", "copy", "kopie", "prev", "previous", "rej", "disabled", "dpkg-old",
    "rpmsave",
];

/// The text before the name: files of macOS, locks and drafts of Emacs, swap files of Vim, and copies.
const BEGINNINGS: [&str; 6] = ["._", ".#", "#", ".~lock.", "copy of ", "."];

/// How many endings and beginnings a name can have.
const MOST: usize = 4;

/// The names that a name could be a backup of, in small letters; none for most names.
pub(super) fn originals(name: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let mut names = vec![name];
    for _ in 0..MOST {
        let next: Vec<&str> = names.iter().flat_map(|name| shorter(name)).collect();
        names.clear();
        for name in next {
            if !name.is_empty() && !found.contains(&name) {
                found.push(name);
                names.push(name);
            }
        }
    }
    found
}

/// The name without its last ending, and without its first sign.
fn shorter(name: &str) -> Vec<&str> {
    let ending = without_tilde(name).or_else(|| name.strip_suffix('#')).or_else(|| without_ending(name));
    let beginning = BEGINNINGS.iter().find_map(|beginning| name.strip_prefix(beginning));
    ending.into_iter().chain(beginning).collect()
}

/// `name~` and `name.~1~`.
fn without_tilde(name: &str) -> Option<&str> {
    let rest = name.strip_suffix('~')?;
    match rest.rsplit_once(".~") {
        Some((name, number)) if is_number(number) => Some(name),
        _ => Some(rest),
    }
}

/// `name.bak`, `name-backup2`, `name (1)` and `name.1`.
fn without_ending(name: &str) -> Option<&str> {
    if let Some((name, number)) = name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("))
        && is_number(number)
    {
        return Some(name);
    }
    // `dpkg-old` has a sign of its own.
    let mut with_sign = ENDINGS.iter().filter(|known| known.contains('-'));
    let of_sign = with_sign.find_map(|known| name.strip_suffix(known)?.strip_suffix(['.', '-', '_']));
    if of_sign.is_some() {
        return of_sign;
    }
    let at = name.rfind(['.', '-', '_', ' '])?;
    let (start, ending) = (&name[..at], &name[at + 1..]);
    let word = ending.trim_end_matches(|sign: char| sign.is_ascii_digit());
    if ENDINGS.contains(&word) || (word.is_empty() && !ending.is_empty()) {
        return Some(start);
    }
    None
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::originals;

    #[test]
    fn the_name_of_a_backup_leads_to_its_file() {
        for name in [
            "id_rsa~",
            "id_rsa.bak",
            "id_rsa.bak2",
            "id_rsa-backup",
            "id_rsa_old",
            "id_rsa.1",
            "id_rsa.~3~",
            "id_rsa (1)",
            "id_rsa copy",
            "copy of id_rsa",
            ".id_rsa.swp",
            "#id_rsa#",
            ".#id_rsa",
            "._id_rsa",
            "id_rsa.dpkg-old",
            "id_rsa.orig~",
            "id_rsa.2024-01-31",
        ] {
            assert!(originals(name).contains(&"id_rsa"), "{name}: {:?}", originals(name));
        }
        for name in ["id_rsa", "id_rsa.rs", "id_rsa_parser.rs", "id_rsabak", "my_id_rsa.bak"] {
            assert!(!originals(name).contains(&"id_rsa"), "{name}");
        }
    }
}
