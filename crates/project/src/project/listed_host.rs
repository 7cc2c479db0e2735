//! An entry of a list of hosts: `HOST`, or `HOST:PORT` for that port alone.

use stave_canon::Value;
use stave_script::address::listed_host;
use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueNode};

/// How an entry is written.
pub(super) const A_HOST: &str = "`HOST` or `HOST:PORT`";

/// An entry in the form that addresses are compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedHost(String);

impl ListedHost {
    pub(super) fn texts(hosts: Vec<ListedHost>) -> Vec<String> {
        hosts.into_iter().map(|host| host.0).collect()
    }
}

impl Shape for ListedHost {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let text = String::read(node, at, reader)?;
        let host = listed_host(&text).map(ListedHost);
        if host.is_none() {
            reader.fault(at, node.span(), FaultKind::rule("value", format!("must be {A_HOST}")));
        }
        host
    }

    fn write(&self) -> Value {
        self.0.as_str().into()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        String::schema(definitions)
    }
}
