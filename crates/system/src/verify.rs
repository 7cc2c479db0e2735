//! Rules about documents.
//!
//! [`invariants`] are kept by every document, and loading enforces them. The other files hold one
//! operational rule each: a document that breaks one can be loaded and looked at, and [`verify`] says
//! what is wrong with it.

mod acyclic;
mod contract_category;
mod dependencies;
mod deployable;
pub(crate) mod invariants;
mod knowledge_hub;
mod policy_actions;

use stave_canon::Pointer;
use stave_diag::Code;

use crate::{Document, Node, codes};

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
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
pub fn verify(document: &Document) -> Vec<Finding> {
    let rules: [(Rule, Check); 6] = [
        (Rule::ContractCategory, contract_category::check),
        (Rule::Dependencies, dependencies::check),
        (Rule::Acyclic, acyclic::check),
        (Rule::KnowledgeHub, knowledge_hub::check),
        (Rule::Deployable, deployable::check),
        (Rule::PolicyActions, policy_actions::check),
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
            Rule::ContractCategory => codes::SYSTEM_WRONG_CONTRACT,
            Rule::Dependencies => codes::SYSTEM_UNKNOWN_DEPENDENCY,
            Rule::Acyclic => codes::SYSTEM_DEPENDENCY_CYCLE,
            Rule::KnowledgeHub => codes::SYSTEM_BAD_KNOWLEDGE_HUB,
            Rule::Deployable => codes::SYSTEM_UNDECLARED_EFFECTS,
            Rule::PolicyActions => codes::SYSTEM_BAD_POLICY_NODE,
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
    document: &'d Document,
    findings: &'d mut Vec<Finding>,
}

impl<'d> Findings<'d> {
    /// The nodes with their pointers.
    fn nodes(&self) -> impl Iterator<Item = (Pointer, &'d Node)> + use<'d> {
        let nodes = Pointer::root().key("nodes");
        self.document.nodes.iter().enumerate().map(move |(index, node)| (nodes.index(index), node))
    }

    fn add(&mut self, pointer: Pointer, message: impl Into<String>) {
        self.findings.push(Finding { rule: self.rule, pointer, message: message.into() });
    }
}
