//! The policies that hold when a project writes none.

use super::evidence::Instruction;
use super::policy::{Matching, Policy, PolicyAction, PolicyType};

const PATHS: [&str; 3] = ["/sys/", "/etc/", r"C:\Windows\System32\"];
const DESTRUCTIVE: [&str; 3] = ["delete all", "drop database", "rm -rf"];
const SENSITIVE: [&str; 3] = ["ignore policy", "bypass", "override"];

/// Places beside the specified ones that hold the machine's or a person's secrets.
const MORE_PATHS: [&str; 36] = [
    "/proc/",
    "/dev/",
    "/boot/",
    "/root/",
    "/run/secrets/",
    "/var/run/secrets/",
    r"C:\Windows\SysWOW64\",
    "**/.ssh/",
    "**/.git/",
    "**/.gnupg/",
    "**/.aws/",
    "**/.kube/",
    "**/.env",
    "**/.env.*",
    "**/.env-*",
    "**/.env_*",
    "**/.envrc",
    "**/.envs/",
    "**/.netrc",
    "**/_netrc",
    "**/.pgpass",
    "**/.htpasswd",
    "**/.vault-token",
    "**/.git-credentials",
    "**/.npmrc",
    "**/.pypirc",
    "**/.docker/config.json",
    "**/.dockercfg",
    "**/.config/gcloud/",
    "**/id_rsa",
    "**/id_dsa",
    "**/id_ecdsa",
    "**/id_ecdsa_sk",
    "**/id_ed25519",
    "**/id_ed25519_sk",
    "**/id_xmss",
];

/// `rm` that asks nothing and leaves nothing, with its flags in any order and number.
const REMOVES: [&str; 1] = [
    r"(?-u:\b)rm\s+(-[dfirv]+\s+|--(recursive|force|dir|interactive|verbose|one-file-system|no-preserve-root|preserve-root)\s+)*?(-[dfirv]*(r[dfirv]*f|f[dfirv]*r)[dfirv]*|(-[dfirv]*r[dfirv]*|--recursive)\s+(-[dfirv]+\s+|--(recursive|force|dir|interactive|verbose|one-file-system|no-preserve-root|preserve-root)\s+)*?(-[dfirv]*f[dfirv]*|--force)|(-[dfirv]*f[dfirv]*|--force)\s+(-[dfirv]+\s+|--(recursive|force|dir|interactive|verbose|one-file-system|no-preserve-root|preserve-root)\s+)*?(-[dfirv]*r[dfirv]*|--recursive))(?-u:\b)",
];

/// Of which every match of [`REMOVES`] holds one: the command and the first letter of one of its flags.
const REMOVES_NEEDLES: [&str; 8] = ["rm d", "rm f", "rm i", "rm n", "rm o", "rm p", "rm r", "rm v"];

/// Other forms of the specified keywords.
const MORE_SENSITIVE: [&str; 5] = ["ignore policies", "overriding", "overridden", "overrode", "circumvent"];

/// Instructions to get around rules, in constraints and in text that only brings information: a verb of evasion and, near it, the rule it evades.
/// The edge of a word is that of ASCII: the engine is many times slower where edges follow all of Unicode, and all words
/// here are ASCII.
const INJECTED: [&str; 6] = [
    r"(?-u:\b)(bypass|circumvent|override|overrid|evade|subvert|defeat|sidestep)(s|es|d|ed|den|ing)?(?-u:\b)(\W+\w+){0,4}?\W+(polic(y|ies)|governance|guard ?rails?|safeguards?|safety|restrictions?|constraints?|moderation|instructions?|security|auth|authentication|authorization|approvals?|access controls?|checks|filters?|rules)(?-u:\b)",
    r"(?-u:\b)(ignore|disregard|forget|skip|neglect)(s|d|ing)?(?-u:\b)\W+(all\W+|any\W+|of\W+|the\W+|your\W+|these\W+|those\W+|my\W+|its\W+|every\W+|previous\W+|prior\W+|above\W+|earlier\W+|preceding\W+|system\W+|safety\W+|existing\W+|other\W+)+(instructions?|polic(y|ies)|governance|guard ?rails?|constraints?|guidelines?|restrictions?|prompts?|directives?|orders)(?-u:\b)",
    r"(?-u:\b)(ignore|disregard)\W+(polic(y|ies)|governance|instructions|constraints)(?-u:\b)",
    r"(?-u:\b)(reveal|print|repeat|show|output|leak|disclose)\W+(me\W+)?(your|the)\W+(system|hidden|initial|secret|original)\W+(prompt|instructions?|message)(?-u:\b)",
    r"(?-u:\b)(do anything now|developer mode (is )?(enabled|on|active)|jailbroken|you are now (unrestricted|unfiltered|dan(?-u:\b)|free of))",
    r"(?-u:\b)(without|no longer have|act as if (there (are|were)|you have) no)\W+(any\W+)?(restrictions|rules|policies|governance|guard ?rails|safeguards|limitations)(?-u:\b)",
];

/// What each of [`INJECTED`] tells the model.
const INSTRUCTIONS: [Instruction; INJECTED.len()] = [
    Instruction::Evade,
    Instruction::Override,
    Instruction::Override,
    Instruction::Reveal,
    Instruction::Persona,
    Instruction::Unbound,
];

/// Of which every match of [`INJECTED`] holds one.
const INJECTED_NEEDLES: [&str; 26] = [
    "bypass",
    "circumvent",
    "overrid",
    "evad",
    "subvert",
    "defeat",
    "sidestep",
    "ignor",
    "disregard",
    "forget",
    "skip",
    "neglect",
    "reveal",
    "print",
    "repeat",
    "show",
    "output",
    "leak",
    "disclose",
    "anything",
    "developer",
    "jailbroken",
    "you are now",
    "without",
    "no longer have",
    "act as if",
];

pub(super) fn specified() -> Vec<Policy> {
    vec![
        policy("protected_paths", PolicyType::ContextRef, &PATHS, &[], PolicyAction::Deny),
        policy("destructive_actions", PolicyType::Intent, &DESTRUCTIVE, &[], PolicyAction::Flag),
        policy("sensitive_constraints", PolicyType::Constraint, &SENSITIVE, &[], PolicyAction::Deny),
    ]
}

pub(super) fn strict() -> Vec<Policy> {
    let evasions =
        [("evasive_constraints", PolicyType::Constraint), ("injected_instructions", PolicyType::Content)]
            .map(|(name, policy_type)| {
                let injected = policy(name, policy_type, &INJECTED, &[], PolicyAction::Deny);
                injected.needles(&INJECTED_NEEDLES).matching(Matching::Regex)
            });
    let removes = policy("destructive_commands", PolicyType::Intent, &REMOVES, &[], PolicyAction::Flag);
    let removes = removes.needles(&REMOVES_NEEDLES).matching(Matching::Regex);
    // An expression of ours that could not be used would be our own mistake; a test compiles them all.
    debug_assert!(removes.is_ok() && evasions.iter().all(Result::is_ok));
    let mut policies = vec![
        policy("protected_paths", PolicyType::ContextRef, &PATHS, &MORE_PATHS, PolicyAction::Deny),
        policy("destructive_actions", PolicyType::Intent, &DESTRUCTIVE, &[], PolicyAction::Flag),
        policy(
            "sensitive_constraints",
            PolicyType::Constraint,
            &SENSITIVE,
            &MORE_SENSITIVE,
            PolicyAction::Deny,
        ),
    ];
    policies.extend(removes);
    policies.extend(evasions.into_iter().flatten().map(|policy| policy.weighed(&INSTRUCTIONS)));
    policies
}

fn policy(
    name: &str,
    policy_type: PolicyType,
    specified: &[&str],
    more: &[&str],
    action: PolicyAction,
) -> Policy {
    let texts = specified.iter().chain(more).map(|text| (*text).to_owned());
    Policy::new(name, policy_type, texts, action)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_expression_compiles() {
        assert_eq!(super::strict().len(), 6);
    }
}
