//! A document with one field of each sort.

use std::collections::BTreeMap;

use stave_canon::{Object, Value, parse};
use stave_shape::{FaultKind, Pattern, Place, Reader, Shape, ValueNode};

const NAME: Pattern = Pattern {
    name: "a name",
    expression: "^[a-z]+$",
    fits: |text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase()),
};

/// A shop order.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(check = paid_orders_have_items)]
pub(crate) struct Order {
    /// Who ordered.
    #[shape(pattern = NAME)]
    pub(crate) customer: String,
    #[shape(rename = "type")]
    pub(crate) kind: OrderKind,
    #[shape(default = 5, min = 1, max = 10)]
    pub(crate) priority: u8,
    pub(crate) serial: u64,
    pub(crate) note: Option<String>,
    #[shape(not_null, not_blank)]
    pub(crate) label: Option<String>,
    #[shape(write_null)]
    pub(crate) coupon: Option<String>,
    #[shape(default)]
    pub(crate) items: Vec<Item>,
    #[shape(default)]
    pub(crate) shelves: BTreeMap<String, u32>,
    #[shape(rest)]
    pub(crate) extra: Object,
}

/// How an order is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
#[shape(words)]
pub(crate) enum OrderKind {
    Prepaid,
    #[shape(rename = "on-account")]
    OnAccount,
}

/// What is ordered.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(tag = "kind")]
pub(crate) enum Item {
    /// By number.
    Piece {
        /// How many.
        #[shape(min = 1)]
        count: u32,
    },
    /// By weight.
    Bulk {
        grams: f64,
        sieved: Option<bool>,
    },
    Gift,
}

/// A message about an order.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(tag = "about", otherwise = Notice)]
pub(crate) enum Message {
    #[shape(or = "delay")]
    Delivery(Delivery),
    Payment {
        cents: u32,
    },
}

/// When an order comes.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Delivery {
    pub(crate) about: String,
    pub(crate) day: u32,
    #[shape(default, omit_default)]
    pub(crate) signed: bool,
}

/// What every message has.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct Notice {
    pub(crate) day: u32,
}

/// The messages of a day.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(mark(kind = "messages", version = 1))]
pub(crate) struct Messages {
    /// Drawn when it is absent.
    #[shape(placeholder, null_is_absent)]
    pub(crate) id: String,
    pub(crate) messages: Vec<std::sync::Arc<Message>>,
}

pub(crate) const MESSAGES: &str = r#"{"kind": "messages", "version": 1, "id": "a", "messages": [
    {"about": "delivery", "day": 3}, {"about": "delay", "day": 4, "signed": true}, {"about": "payment", "cents": 5}]}"#;

fn paid_orders_have_items<N: ValueNode>(order: Option<&Order>, node: N, at: &Place<'_>, reader: &mut Reader) {
    let Some(order) = order else { return };
    if order.kind == OrderKind::Prepaid && order.items.is_empty() {
        let kind = FaultKind::rule("empty-order", "a prepaid order has items");
        reader.fault(&at.key("items"), node.member("items").and_then(ValueNode::span), kind);
    }
}

pub(crate) fn value(text: &str) -> Value {
    parse(text).unwrap()
}

pub(crate) const WHOLE: &str = r#"{"customer": "ada", "type": "on-account", "priority": 7,
    "serial": 18446744073709551615, "note": "n", "label": "l", "coupon": null, "items": [{"kind": "piece", "count": 2},
    {"kind": "bulk", "grams": 1.5, "sieved": true}, {"kind": "gift"}], "shelves": {"a": 1}, "later": [1]}"#;
