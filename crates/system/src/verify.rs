//! Rules about documents.
//!
//! [`invariants`] are kept by every document, and loading enforces them. The other files hold one
//! operational rule each: a document that breaks one can be loaded and looked at, and [`verify`] says
//! what is wrong with it.

pub(crate) mod invariants;
mod system_bad_knowledge_hub;
mod system_bad_policy_node;
mod system_dependency_cycle;
mod system_undeclared_effects;
mod system_unknown_dependency;
mod system_wrong_contract;

use stave_canon::Pointer;
use stave_diag::Code;

use crate::{SystemDocument, SystemNode};

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleViolation {
    pub rule: Rule,
    /// Into the document as it was given to [`verify`].
    pub pointer: Pointer,
    pub message: String,
}

/// The operational rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// Workflow nodes carry runtime contracts, intent nodes acceptance contracts.
    ContractCategory,
    /// Dependencies name other nodes of the document.
    Dependencies,
    /// Dependencies form no circle.
    Acyclic,
    /// There is at most one knowledge hub, and it says what it knows.
    KnowledgeHub,
    /// What is deployed says what it may touch or what it promises.
    Deployable,
    /// Policies allow and deny lists of actions, and nothing else.
    PolicyActions,
}

/// Which of the two questions a rule belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Concern {
    Contracts,
    Graph,
}

type Check = fn(&mut Findings<'_>);

/// Every finding, in the order of the rules and then of the nodes.
#[must_use]
pub fn verify(document: &SystemDocument) -> Vec<RuleViolation> {
    let rules: [(Rule, Check); 6] = [
        (Rule::ContractCategory, system_wrong_contract::check),
        (Rule::Dependencies, system_unknown_dependency::check),
        (Rule::Acyclic, system_dependency_cycle::check),
        (Rule::KnowledgeHub, system_bad_knowledge_hub::check),
        (Rule::Deployable, system_undeclared_effects::check),
        (Rule::PolicyActions, system_bad_policy_node::check),
    ];
    let mut findings = Vec::new();
    for (rule, check) in rules {
        check(&mut Findings { rule, document, findings: &mut findings });
    }
    findings
}

impl Rule {
    #[must_use]
    pub fn concern(self) -> Concern {
        if self == Rule::ContractCategory { Concern::Contracts } else { Concern::Graph }
    }

    /// The code of what breaks the rule.
    #[must_use]
    pub fn code(self) -> Code {
        match self {
            Rule::ContractCategory => system_wrong_contract::CODE,
            Rule::Dependencies => system_unknown_dependency::CODE,
            Rule::Acyclic => system_dependency_cycle::CODE,
            Rule::KnowledgeHub => system_bad_knowledge_hub::CODE,
            Rule::Deployable => system_undeclared_effects::CODE,
            Rule::PolicyActions => system_bad_policy_node::CODE,
        }
    }

    /// The rule's name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Rule::ContractCategory => "contract-category",
            Rule::Dependencies => "dependencies",
            Rule::Acyclic => "acyclic",
            Rule::KnowledgeHub => "knowledge-hub",
            Rule::Deployable => "deployable",
            Rule::PolicyActions => "policy-actions",
        }
    }
}

/// What a rule looks at, and where it puts what it finds.
#[derive(Debug)]
struct Findings<'d> {
    rule: Rule,
    document: &'d SystemDocument,
    findings: &'d mut Vec<RuleViolation>,
}

impl<'d> Findings<'d> {
    /// The nodes with their pointers.
    fn nodes(&self) -> impl Iterator<Item = (Pointer, &'d SystemNode)> + use<'d> {
        let nodes = Pointer::root().key("nodes");
        self.document.nodes.iter().enumerate().map(move |(index, node)| (nodes.index(index), node))
    }

    fn add(&mut self, pointer: Pointer, message: impl Into<String>) {
        self.findings.push(RuleViolation { rule: self.rule, pointer, message: message.into() });
    }
}
