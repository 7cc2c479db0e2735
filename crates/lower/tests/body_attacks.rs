//! Bodies that try to bring a marked secret past the gate, drawn as the fuzzer draws them.

use proptest::prelude::*;
use stave_block::{DataScope, Destination, GateVerdict, SensitivityPolicy, Surface};
use stave_lower::{govern_body, read_wire};

#[path = "../../../fuzz/generators/body_attack.rs"]
mod body_attack;

use body_attack::{Choices, SECRET};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_body_delivers_its_secret(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let body = body_attack::body(&mut Choices::new(&bytes));
        prop_assert!(stave_canon::parse(&body).is_ok(), "{}", body);
        for surface in Surface::ALL {
            let Ok(wire) = read_wire(&body, Some(surface)) else { continue };
            let (policy, scope) = (SensitivityPolicy::default(), DataScope::new("a"));
            let governed = govern_body(&body, &wire, &policy, &scope, Destination::External);
            let steps = body_attack::steps(&body, &wire);
            prop_assert!(steps <= body_attack::most_steps(&body), "{} steps for {}", steps, body);
            if governed.verdict == GateVerdict::Send {
                let sent = stave_canon::parse(&governed.spliced.body);
                let sent = sent.map_err(|error| TestCaseError::fail(format!("{error}: {body}")))?;
                prop_assert!(!body_attack::is_delivered(&sent, SECRET), "{} from {}", sent, body);
            }
        }
    }
}
