//! What the code finds beside its inputs: `context`, `state` and the clock.

use std::io;

use jiff::tz::{Offset, TimeZone};
use monty_types::{
    DictPairs, ExcType, ExtFunctionResult, MontyClassInstance, MontyClassType, MontyDate, MontyDateTime,
    MontyException, MontyObject, MontyTimeZone, MontyUuid, OsFunctionCall,
};
use stave_canon::{Object, Timestamp, Value};
use stave_script::protocol::{HostAnswer, HostCall, JobFailure, Json, WorkerLimits};

use crate::convert;

/// Asks the host and waits for its answers, in the order of the calls.
pub(crate) trait Exchange {
    fn exchange(&mut self, calls: Vec<HostCall>) -> io::Result<Vec<HostAnswer>>;
}

/// Identities only have to differ from each other within one run.
pub(crate) const CONTEXT: MontyUuid = MontyUuid::from_u128(0xC0);
pub(crate) const STATE: MontyUuid = MontyUuid::from_u128(0x57);

/// `context` as the code sees it: one attribute for each field.
pub(crate) fn context(fields: Object) -> MontyObject {
    instance("Context", CONTEXT, convert::pairs(fields).into())
}

/// `state` as the code sees it: nothing by itself, every use calls the host.
pub(crate) fn state() -> MontyObject {
    instance("State", STATE, DictPairs::default())
}

fn instance(name: &str, id: MontyUuid, attrs: DictPairs) -> MontyObject {
    let class_type = MontyClassType {
        name: name.to_owned(),
        id: MontyUuid::from_u128(u128::from_be_bytes(*id.as_bytes()) << 8),
        host_defined: true,
        is_dataclass: false,
        attrs: DictPairs::default(),
    };
    MontyObject::ClassInstance(Box::new(MontyClassInstance { class_type, instance_id: id, attrs }))
}

pub(crate) fn raise(kind: ExcType, message: impl Into<String>) -> MontyException {
    MontyException::new(kind, Some(message.into()))
}

pub(crate) fn no_state() -> MontyException {
    raise(ExcType::RuntimeError, "this node has no state: give it a `state` section to use `state`")
}

/// `context.get(name, default)`; other methods do not exist.
pub(crate) fn context_method(
    method: &str,
    fields: &Object,
    args: Vec<MontyObject>,
    kwargs: Vec<(MontyObject, MontyObject)>,
) -> ExtFunctionResult {
    if method != "get" {
        let message = format!("'Context' object has no attribute '{method}'");
        return raise(ExcType::AttributeError, message).into();
    }
    match get_arguments("context.get", args, kwargs) {
        Ok((name, default)) => {
            fields.get(&name).map_or(default, |value| convert::to_python(value.clone())).into()
        }
        Err(exception) => exception.into(),
    }
}

/// A state call, and what a `get` gives when there is no such field.
pub(crate) struct Pending {
    pub(crate) call: HostCall,
    pub(crate) default: MontyObject,
}

/// What stops a state call from being made.
pub(crate) enum Refused {
    /// Raised in the code.
    Raise(MontyException),
    /// Ends the run.
    End(JobFailure),
}

pub(crate) fn state_method(
    method: &str,
    args: Vec<MontyObject>,
    kwargs: Vec<(MontyObject, MontyObject)>,
    bounds: &WorkerLimits,
) -> Result<Pending, Refused> {
    match method {
        "get" => {
            let (key, default) = get_arguments("state.get", args, kwargs).map_err(Refused::Raise)?;
            Ok(Pending { call: HostCall::Get { key }, default })
        }
        "set" => {
            let [key, value] = named("state.set", ["key", "value"], args, kwargs).map_err(Refused::Raise)?;
            let key = text("state.set", key).map_err(Refused::Raise)?;
            let value = value.ok_or_else(|| Refused::Raise(missing("state.set", "value")))?;
            let place = format!("the state value `{key}`");
            let value = convert::to_json(value, &place, bounds).map_err(Refused::End)?;
            Ok(Pending { call: HostCall::Set { key, value: Json(value) }, default: MontyObject::None })
        }
        "delete" => {
            let [key] = named("state.delete", ["key"], args, kwargs).map_err(Refused::Raise)?;
            let key = text("state.delete", key).map_err(Refused::Raise)?;
            Ok(Pending { call: HostCall::Delete { key }, default: MontyObject::None })
        }
        other => {
            let message = format!("'State' object has no attribute '{other}'");
            Err(Refused::Raise(raise(ExcType::AttributeError, message)))
        }
    }
}

fn get_arguments(
    function: &str,
    args: Vec<MontyObject>,
    kwargs: Vec<(MontyObject, MontyObject)>,
) -> Result<(String, MontyObject), MontyException> {
    let [key, default] = named(function, ["key", "default"], args, kwargs)?;
    Ok((text(function, key)?, default.unwrap_or(MontyObject::None)))
}

/// Sorts positional and keyword arguments to their names.
fn named<const COUNT: usize>(
    function: &str,
    names: [&str; COUNT],
    args: Vec<MontyObject>,
    kwargs: Vec<(MontyObject, MontyObject)>,
) -> Result<[Option<MontyObject>; COUNT], MontyException> {
    let mut values = [const { None }; COUNT];
    let given = args.len();
    if given > COUNT {
        let message = format!("{function}() takes at most {COUNT} arguments, {given} were given");
        return Err(raise(ExcType::TypeError, message));
    }
    for (slot, value) in values.iter_mut().zip(args) {
        *slot = Some(value);
    }
    for (key, value) in kwargs {
        let index = names.iter().position(|name| matches!(&key, MontyObject::String(key) if key == name));
        match index.and_then(|index| values.get_mut(index)) {
            Some(slot @ None) => *slot = Some(value),
            _ => {
                let message = format!("{function}() got an unexpected keyword argument {}", key.py_repr());
                return Err(raise(ExcType::TypeError, message));
            }
        }
    }
    Ok(values)
}

fn text(function: &str, key: Option<MontyObject>) -> Result<String, MontyException> {
    match key {
        Some(MontyObject::String(key)) => Ok(key),
        Some(other) => {
            let message = format!("{function}() key must be str, not {}", other.type_name());
            Err(raise(ExcType::TypeError, message))
        }
        None => Err(missing(function, "key")),
    }
}

fn missing(function: &str, name: &str) -> MontyException {
    raise(ExcType::TypeError, format!("{function}() missing 1 required positional argument: '{name}'"))
}

/// The operating system as the code finds it: a clock that is fixed at the event time, nothing else.
pub(crate) fn system_call(call: &OsFunctionCall, fields: &Object) -> ExtFunctionResult {
    match call {
        OsFunctionCall::DateTimeNow(zone) => match event_time(fields) {
            Some(time) => now(time, zone.as_ref()).into(),
            None => no_clock().into(),
        },
        OsFunctionCall::DateToday => match event_time(fields) {
            Some(time) => {
                let date = time.to_zoned(TimeZone::UTC).date();
                MontyObject::Date(MontyDate {
                    year: i32::from(date.year()),
                    month: date.month().unsigned_abs(),
                    day: date.day().unsigned_abs(),
                })
                .into()
            }
            None => no_clock().into(),
        },
        other => {
            let message = format!("{} is not available in the sandbox", other.name());
            raise(ExcType::PermissionError, message).into()
        }
    }
}

fn no_clock() -> MontyException {
    raise(ExcType::RuntimeError, "there is no clock: `context.event_time` is not an RFC 3339 time")
}

fn event_time(fields: &Object) -> Option<Timestamp> {
    fields.get("event_time").and_then(Value::as_str)?.parse().ok()
}

/// Without a zone the civil time is that of UTC, so that it does not depend on the machine.
fn now(time: Timestamp, zone: Option<&MontyTimeZone>) -> MontyObject {
    let offset = zone.and_then(|zone| Offset::from_seconds(zone.offset_seconds).ok()).unwrap_or(Offset::UTC);
    let civil = offset.to_datetime(time);
    MontyObject::DateTime(MontyDateTime {
        year: i32::from(civil.year()),
        month: civil.month().unsigned_abs(),
        day: civil.day().unsigned_abs(),
        hour: civil.hour().unsigned_abs(),
        minute: civil.minute().unsigned_abs(),
        second: civil.second().unsigned_abs(),
        microsecond: civil.subsec_nanosecond().unsigned_abs() / 1000,
        offset_seconds: zone.map(|zone| zone.offset_seconds),
        timezone_name: zone.and_then(|zone| zone.name.clone()),
    })
}
