//! One call from a client's bytes to the provider's: closed on policy, open on planning.

use stave_block::{
    Destination, GateAction, Planner, PlannerSettings, Provenance, Scope, Sensitivity, SensitivityPolicy,
};
use stave_lower::{Outbound, RewritePolicy, Unsendable, prepare_request, read_wire};

fn prepare(
    planner: &mut Planner,
    body: &str,
    policy: &SensitivityPolicy,
    now: f64,
) -> Result<stave_lower::PreparedRequest, Unsendable> {
    let acme = Scope::new("acme");
    let outbound = Outbound {
        surface: None,
        session: Some("one"),
        now,
        policy,
        origin: &acme,
        destination: Destination::External,
        rewrites: RewritePolicy::default(),
    };
    prepare_request(body, planner, &outbound)
}

fn body(system: &str, question: &str) -> String {
    let system = stave_canon::Value::from(system.repeat(600));
    format!(
        r#"{{"model":"claude-opus-5","tools":[{{"name":"t","input_schema":{{}}}}], "system":{system},"messages":[{{"role":"user","content":"{question}"}}]}}"#
    )
}

#[test]
fn a_request_is_governed_and_then_planned_as_it_is_sent() {
    let mut planner = Planner::new(PlannerSettings::default());
    let policy = SensitivityPolicy::default();
    let sent = body("You are terse. ", "with AKIAIOSFODNN7EXAMPLE");
    let first = prepare(&mut planner, &sent, &policy, 0.0).unwrap();
    assert!(!first.body.contains("AKIA") && first.body.contains("[redacted aws_access_key]"));
    assert_eq!(first.records.len(), 1);
    assert!(first.body.contains("cache_control"), "{}", first.body);
    let second = prepare(&mut planner, &sent, &policy, 10.0).unwrap();
    assert!(second.plan.unwrap().expected.read > 0);
    let wire = read_wire(&second.body, None).unwrap();
    assert!(wire.positions.iter().zip(&second.wire.positions).all(|(sent, read)| sent.prefix == read.prefix));
}

#[test]
fn what_the_policy_refuses_or_nobody_can_read_is_not_sent() {
    let mut planner = Planner::new(PlannerSettings::default());
    let refuse = SensitivityPolicy { restricted: GateAction::Refuse, ..SensitivityPolicy::default() };
    let error = prepare(&mut planner, &body("x ", "AKIAIOSFODNN7EXAMPLE"), &refuse, 0.0).unwrap_err();
    assert!(matches!(&error, Unsendable::Refused(records) if records.len() == 1));
    assert!(error.to_string().contains("aws_access_key (restricted)") && !error.to_string().contains("AKIA"));
    for unreadable in ["", "{", "[]", "{}", "{\"messages\":", "AKIAIOSFODNN7EXAMPLE"] {
        let error = prepare(&mut planner, unreadable, &refuse, 0.0).unwrap_err();
        assert!(matches!(error, Unsendable::Unreadable(_)), "{unreadable}");
    }
    let users = SensitivityPolicy {
        provenance: vec![(Provenance::User, Sensitivity::Restricted)],
        ..SensitivityPolicy::default()
    };
    assert!(matches!(prepare(&mut planner, &body("x ", "hi"), &users, 0.0), Err(Unsendable::Refused(_))));
}

#[test]
fn what_is_routed_is_not_planned_for_the_first_destination() {
    let mut planner = Planner::new(PlannerSettings::default());
    let route = SensitivityPolicy {
        restricted: GateAction::Route("local".to_owned()),
        ..SensitivityPolicy::default()
    };
    let sent = body("x ", "AKIAIOSFODNN7EXAMPLE");
    let routed = prepare(&mut planner, &sent, &route, 0.0).unwrap();
    assert_eq!((routed.route.as_deref(), routed.plan, routed.body), (Some("local"), None, sent));
    let plain = body("x ", "hi");
    assert_eq!(prepare(&mut planner, &plain, &route, 1.0).unwrap().route, None);
}

#[test]
fn what_was_written_can_be_read_as_soon_as_its_response_has_begun() {
    let policy = SensitivityPolicy::default();
    let sent = body("You are terse. ", "hi");
    let read = |begun: Option<f64>| {
        let mut planner = Planner::new(PlannerSettings::default());
        let first = prepare(&mut planner, &sent, &policy, 0.0).unwrap();
        if let (Some(now), Some(plan)) = (begun, &first.plan) {
            planner.begun(plan, now);
        }
        prepare(&mut planner, &sent, &policy, 0.5).unwrap().plan.unwrap().expected.read
    };
    assert_eq!(read(None), 0, "two requests side by side cannot read from one another");
    assert!(read(Some(0.3)) > 0);
}
