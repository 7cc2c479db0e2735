//! What a key may do: roles, and what an operation needs of them; `api/table.rs` says which needs which.
//!
//! Invariant: handlers judge no roles; they are handed a principal that is already narrowed to the flows for which the
//! key has the role.

/// What a key may do with a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Start, cancel, resume and replay runs.
    Run,
    /// Answer for a person.
    Decide,
    /// See flows, runs and metrics.
    Observe,
    /// Change flows, and run what is not saved.
    Edit,
    /// All of it.
    Admin,
}

/// Some roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Roles(u8);

impl Role {
    pub(crate) const ALL: [Role; 5] = [Role::Run, Role::Decide, Role::Observe, Role::Edit, Role::Admin];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Role::Run => "run",
            Role::Decide => "decide",
            Role::Observe => "observe",
            Role::Edit => "edit",
            Role::Admin => "admin",
        }
    }

    fn bit(self) -> u8 {
        match self {
            Role::Run => 1,
            Role::Decide => 2,
            Role::Observe => 4,
            Role::Edit => 8,
            Role::Admin => 16,
        }
    }
}

impl Roles {
    /// What a key may do when its line does not say.
    pub(crate) const DEFAULT: Roles = Roles(1 | 4);

    /// Reads words with commas between them; `None` when one is no role, or there is none.
    pub(crate) fn parse(text: &str) -> Option<Roles> {
        let word = |word: &str| Role::ALL.into_iter().find(|role| role.word() == word);
        text.split(',').try_fold(Roles::default(), |roles, one| Some(Roles(roles.0 | word(one)?.bit())))
    }

    pub(crate) fn has(self, role: Role) -> bool {
        self.0 & (role.bit() | Role::Admin.bit()) != 0
    }

    /// The words of all roles that these amount to.
    pub(crate) fn words(self) -> Vec<&'static str> {
        Role::ALL.into_iter().filter(|role| self.has(*role)).map(Role::word).collect()
    }

    pub(crate) fn and(self, other: Roles) -> Roles {
        Roles(self.0 | other.0)
    }
}

/// Who may ask for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Everyone: probes, and the page, which holds nothing of anybody.
    Nothing,
    /// Any key.
    Key,
    /// A key with one of these roles.
    Role(&'static [Role]),
}

impl Need {
    /// The roles as people read them.
    pub(crate) fn words(self) -> String {
        match self {
            Need::Nothing => "none".to_owned(),
            Need::Key => "any".to_owned(),
            Need::Role(roles) => {
                let words: Vec<String> = roles.iter().map(|role| format!("`{}`", role.word())).collect();
                words.join(" or ")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::TABLE;

    #[test]
    fn the_documentation_has_the_same_table() {
        let page = include_str!("../../../docs/serve.md");
        for operation in TABLE {
            let (method, path) = (operation.method, operation.path);
            let row = format!("| `{method} {path}` | {} |", operation.need.words());
            assert!(page.contains(&row), "docs/serve.md lacks the row\n{row}");
        }
    }

    #[test]
    fn an_administrator_has_every_role_and_nobody_else_has_that_one() {
        let admin = Roles::parse("admin").unwrap();
        assert!(Role::ALL.into_iter().all(|role| admin.has(role)));
        let most = Roles::parse("run,decide,observe,edit").unwrap();
        assert!(!most.has(Role::Admin));
        assert_eq!(Roles::DEFAULT.words(), ["run", "observe"]);
        for wrong in ["", "run,", "Run", "run, observe", "all"] {
            assert_eq!(Roles::parse(wrong), None, "{wrong}");
        }
    }
}
