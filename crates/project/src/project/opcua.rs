//! `[opcua]`: the plants that flows may reach, and how connections to them are secured.

use stave_shape::{FaultKind, Place, Reader, Shape, ValueNode};

/// What a project sets about plants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpcuaSettings {
    /// The addresses that flows may name; none when empty.
    pub allow: Vec<String>,
    pub timeout_ms: Option<u64>,
    /// None leaves connections unprotected.
    pub policy: Option<String>,
    pub mode: Option<String>,
    /// The folder with this program's certificate and those it trusts, relative to the project.
    pub pki: Option<String>,
    pub user: Option<String>,
    /// The variable that holds the user's password.
    pub password: Option<String>,
}

/// The plants that flows may reach.
#[derive(Debug, Default, Shape)]
#[shape(not_null, check = a_password_is_protected)]
pub(super) struct OpcuaTable {
    /// The addresses that flows may name; none when empty.
    #[shape(default)]
    allow: Vec<String>,
    /// The longest that a request may take, in milliseconds.
    #[shape(min = 1)]
    timeout_ms: Option<u64>,
    /// The security policy of connections, which are unprotected when absent.
    policy: Option<OpcuaPolicy>,
    /// How messages are protected under the policy.
    mode: Option<OpcuaMode>,
    /// The folder with this program's certificate and those it trusts, relative to the project.
    pki: Option<String>,
    /// The user to sign in as, which needs a `policy`.
    user: Option<String>,
    /// The variable that holds the user's password.
    password_from: Option<String>,
}

/// The security policies that the protocol still counts as safe.
#[derive(Debug, Clone, Copy, Shape)]
#[shape(words)]
enum OpcuaPolicy {
    #[shape(rename = "Basic256Sha256")]
    Basic256Sha256,
    #[shape(rename = "Aes128-Sha256-RsaOaep")]
    Aes128Sha256RsaOaep,
    #[shape(rename = "Aes256-Sha256-RsaPss")]
    Aes256Sha256RsaPss,
}

#[derive(Debug, Clone, Copy, Shape)]
#[shape(words)]
enum OpcuaMode {
    #[shape(rename = "Sign")]
    Sign,
    #[shape(rename = "SignAndEncrypt")]
    SignAndEncrypt,
}

/// A password would otherwise go over the wire for everyone to read.
fn a_password_is_protected<N: ValueNode>(
    opcua: Option<&OpcuaTable>,
    node: N,
    at: &Place<'_>,
    reader: &mut Reader,
) {
    if opcua.is_some_and(|opcua| opcua.user.is_some() && opcua.policy.is_none()) {
        let message = "must be set together with a `policy`, which protects the password";
        let span = node.member("user").and_then(ValueNode::span);
        reader.fault(&at.key("user"), span, FaultKind::rule("value", message));
    }
}

impl OpcuaTable {
    pub(super) fn settings(self) -> OpcuaSettings {
        OpcuaSettings {
            allow: self.allow,
            timeout_ms: self.timeout_ms,
            policy: self.policy.map(|policy| policy.word().to_owned()),
            mode: self.mode.map(|mode| mode.word().to_owned()),
            pki: self.pki,
            user: self.user,
            password: self.password_from,
        }
    }
}
