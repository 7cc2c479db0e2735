//! Ids that follow from what they name, so that the same thing has the same id in every compile.

use thiserror::Error;

use crate::strip;

/// How many hexadecimal digits of the hash a node id keeps.
const NODE_DIGITS: usize = 16;
/// How many hexadecimal digits of the hash a contract id keeps.
const CONTRACT_DIGITS: usize = 24;

/// A part of an id that is empty once the white space around it is gone.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` must not be blank")]
pub struct BlankPart(pub &'static str);

/// The id of the node of `kind` called `name`.
pub fn stable_node_id(kind: &str, name: &str) -> Result<String, BlankPart> {
    let (kind, name) = (part("kind", kind)?, part("name", name)?);
    Ok(hashed("irn_", NODE_DIGITS, &format!("{kind}::{name}")))
}

/// The id of the runtime contract of one step of a plan.
pub fn runtime_contract_id(plan_id: &str, step_id: &str) -> Result<String, BlankPart> {
    let (plan, step) = (part("plan_id", plan_id)?, part("step_id", step_id)?);
    Ok(hashed("opc_rt_", CONTRACT_DIGITS, &format!("runtime::{plan}::{step}")))
}

/// The id of the acceptance contract of a tenant's intent.
pub fn acceptance_contract_id(tenant_id: &str, intent_id: &str) -> Result<String, BlankPart> {
    let (tenant, intent) = (part("tenant_id", tenant_id)?, part("intent_id", intent_id)?);
    Ok(hashed("opc_acc_", CONTRACT_DIGITS, &format!("accept::{tenant}::{intent}")))
}

/// The id of the deployment contract of a tenant's flow.
pub fn deployment_contract_id(tenant_id: &str, flow: &str) -> Result<String, BlankPart> {
    let (tenant, flow) = (part("tenant_id", tenant_id)?, part("flow", flow)?);
    Ok(hashed("opc_dep_", CONTRACT_DIGITS, &format!("deploy::{tenant}::{flow}")))
}

fn part<'t>(name: &'static str, text: &'t str) -> Result<&'t str, BlankPart> {
    let text = strip(text);
    if text.is_empty() { Err(BlankPart(name)) } else { Ok(text) }
}

fn hashed(prefix: &str, digits: usize, text: &str) -> String {
    let mut hash = stave_canon::sha256_hex(text);
    hash.truncate(digits);
    format!("{prefix}{hash}")
}
