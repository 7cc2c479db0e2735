//! What a key may do: roles, and the one table of which route needs which.
//!
//! Invariant: a route and method that the table does not have is denied. Handlers judge no roles; they are handed a
//! principal that is already narrowed to the flows for which the key has the role.

use hyper::Method;

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

/// Who may ask for a route.
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

const KNOWS: Need = Need::Role(&[Role::Run, Role::Observe]);
const RUN: Need = Need::Role(&[Role::Run]);
const DECIDE: Need = Need::Role(&[Role::Decide]);
const OBSERVE: Need = Need::Role(&[Role::Observe]);
/// Whoever decides has to see what is asked.
const ASKED: Need = Need::Role(&[Role::Decide, Role::Observe]);
const EDIT: Need = Need::Role(&[Role::Edit]);

/// Every route with its method. `GET` stands for `HEAD` too. `docs/serve.md` has the same table.
pub(crate) const TABLE: &[(&str, &str, Need)] = &[
    ("GET", "/", Need::Nothing),
    ("GET", "/assets/{file}", Need::Nothing),
    ("GET", "/v2", Need::Nothing),
    ("GET", "/v2/health/live", Need::Nothing),
    ("GET", "/v2/health/ready", Need::Nothing),
    ("GET", "/v1/models", KNOWS),
    ("GET", "/v1/models/{name}", KNOWS),
    ("POST", "/v1/models/{name}:predict", RUN),
    ("GET", "/v2/models", KNOWS),
    ("GET", "/v2/models/{name}", KNOWS),
    ("GET", "/v2/models/{name}/ready", KNOWS),
    ("POST", "/v2/models/{name}/infer", RUN),
    ("GET", "/runs", OBSERVE),
    ("POST", "/runs", RUN),
    ("GET", "/runs/{run}", OBSERVE),
    ("GET", "/runs/{run}/questions", ASKED),
    ("GET", "/runs/{run}/events", OBSERVE),
    ("POST", "/runs/{run}/cancel", RUN),
    ("POST", "/runs/{run}/resume", RUN),
    ("POST", "/runs/{run}/replay", RUN),
    ("POST", "/runs/{run}/nodes/{node}/decision", DECIDE),
    ("GET", "/openapi.json", Need::Key),
    ("GET", "/metrics", OBSERVE),
    ("POST", "/mcp", RUN),
    ("GET", "/studio/session", Need::Key),
    ("GET", "/studio/files", OBSERVE),
    ("GET", "/studio/file", OBSERVE),
    ("PUT", "/studio/file", EDIT),
    ("POST", "/studio/analyse", OBSERVE),
    ("POST", "/studio/connectable", OBSERVE),
    ("POST", "/studio/hover", OBSERVE),
    ("POST", "/studio/completion", EDIT),
    ("POST", "/studio/definition", OBSERVE),
    ("POST", "/studio/references", OBSERVE),
    ("POST", "/studio/format", EDIT),
    ("POST", "/studio/edit", EDIT),
    ("POST", "/studio/chat", EDIT),
    ("GET", "/studio/commands", Need::Key),
    ("GET", "/studio/palette", Need::Key),
    ("POST", "/studio/lines", OBSERVE),
    // A text that is not what the file holds needs `edit` too, which only the handler can tell.
    ("POST", "/studio/run", RUN),
    ("GET", "/studio/runs/{run}", OBSERVE),
    ("GET", "/studio/runs/{run}/nodes/{node}", OBSERVE),
    ("GET", "/studio/compare", OBSERVE),
    ("GET", "/studio/gateway", OBSERVE),
];

/// Who may ask for a route with a method; `None` for nobody.
pub(crate) fn need(method: &Method, template: &str) -> Option<Need> {
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    TABLE.iter().find(|(of, path, _)| *of == method && *path == template).map(|(_, _, need)| *need)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::Route;

    /// A path of each template.
    fn path(template: &str) -> String {
        let named = template.replace("{name}", "n").replace("{run}", "r").replace("{node}", "d");
        named.replace("/assets/{file}", "/favicon.svg")
    }

    #[test]
    fn every_route_is_in_the_table_once_with_the_methods_that_it_takes() {
        for (index, (method, template, _)) in TABLE.iter().enumerate() {
            let again = TABLE.iter().skip(index + 1).any(|(of, path, _)| of == method && path == template);
            assert!(!again, "{method} {template} is there twice");
            let route = Route::of(&path(template)).unwrap_or_else(|| panic!("{template} is no route"));
            assert_eq!(route.template(), *template);
            for method in route.allow().split(", ") {
                let method: Method = method.parse().unwrap();
                assert!(need(&method, template).is_some(), "{method} {template} has no row");
            }
            assert!(route.allow().split(", ").any(|allowed| allowed == *method), "{method} {template}");
        }
    }

    #[test]
    fn what_the_table_does_not_have_is_for_nobody() {
        for (method, template) in [
            (Method::DELETE, "/runs/{run}"),
            (Method::POST, "/studio/file"),
            (Method::GET, "/v3"),
            (Method::GET, ""),
        ] {
            assert_eq!(need(&method, template), None, "{method} {template}");
        }
        assert_eq!(need(&Method::HEAD, "/runs"), need(&Method::GET, "/runs"));
    }

    #[test]
    fn the_documentation_has_the_same_table() {
        let page = include_str!("../../../docs/serve.md");
        for (method, template, need) in TABLE {
            let row = format!("| `{method} {template}` | {} |", need.words());
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
