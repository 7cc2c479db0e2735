//! The gateway beside a plain proxy and beside gateways that others make, on loopback, sixteen connections.
//!
//! Ours authenticates a virtual key with rates and a budget, judges and plans the request and leaves a record;
//! nginx only passes bytes on. Counted is the CPU time of the process in the middle.

use std::rc::Rc;

use super::Benchmark;
use crate::contest::{Comparison, Contestant, Entrant, Error, Work};
use crate::machine::Machine;
use crate::proxies::{Ask, Care, StaveGateway, Upstream, contestant, litellm, nginx, portkey, stave};
use crate::workload::request;

pub(super) const BENCHMARK: Benchmark = Benchmark {
    name: "gateway",
    about: "stave gateway beside nginx as a plain proxy, Portkey and LiteLLM, CPU of the process between",
    prepare,
};

/// How many different bodies are asked with, so that no proxy lives off one.
const BODIES: usize = 16;

fn prepare(machine: &Machine) -> Vec<Comparison> {
    let upstream = match Upstream::start() {
        Ok(upstream) => Rc::new(upstream),
        Err(error) => {
            let entrants = vec![Entrant { name: "stave gateway", contestant: Err(error) }];
            return vec![Comparison { title: "2 kB body", work: Work::Calls(1), entrants }];
        }
    };
    let small = Ask { path: "/v1/chat/completions", bodies: Rc::new((0..BODIES).map(small_body).collect()) };
    let large = Ask { path: "/v1/messages", bodies: Rc::new((0..BODIES).map(large_body).collect()) };
    let full = stave(machine, &upstream, Care::All);
    let unplanned = stave(machine, &upstream, Care::Unplanned);
    let plain = stave(machine, &upstream, Care::Plain);
    let (nginx, portkey, litellm) = (nginx(&upstream), portkey(machine), litellm(machine, &upstream));
    let ours = |name, gateway: &Result<Rc<StaveGateway>, Error>, ask: &Ask| Entrant {
        name,
        contestant: kept(&upstream, of(gateway).and_then(|gateway| gateway.contestant(ask))),
    };
    let theirs = |name, process: &_, ask: &Ask, headers: &str, warm_up| Entrant {
        name,
        contestant: kept(&upstream, contestant(process, ask, headers, warm_up)),
    };
    let portkey_headers = format!(
        "authorization: Bearer sk-upstream\r\nx-portkey-provider: openai\r\nx-portkey-custom-host: http://{}/v1\r\n",
        upstream.address()
    );
    let key = "authorization: Bearer sk-upstream\r\n";
    vec![
        Comparison {
            title: "2 kB body, chat completions",
            work: Work::Calls(1),
            entrants: vec![
                ours("stave gateway", &full, &small),
                ours("stave gateway, no policies, no plan", &plain, &small),
                theirs("nginx, one worker, plain proxy", &nginx, &small, key, 200),
                theirs("Portkey (npm, Node)", &portkey, &small, &portkey_headers, 600),
                theirs("LiteLLM (PyPI, default, one worker)", &litellm, &small, key, 40),
            ],
        },
        Comparison {
            title: "115 kB body, messages",
            work: Work::Calls(1),
            entrants: vec![
                ours("stave gateway", &full, &large),
                ours("stave gateway, no plan", &unplanned, &large),
                ours("stave gateway, no policies, no plan", &plain, &large),
                theirs("nginx, one worker, plain proxy", &nginx, &large, key, 100),
            ],
        },
    ]
}

/// The gateway, or why there is none.
fn of(gateway: &Result<Rc<StaveGateway>, Error>) -> Result<&StaveGateway, Error> {
    match gateway {
        Ok(gateway) => Ok(gateway),
        Err(Error::Missing(how)) => Err(Error::Missing(how.clone())),
        Err(Error::Failed(why)) => Err(Error::Failed(why.clone())),
    }
}

/// A contestant that keeps the upstream for as long as it takes part.
struct Kept {
    contestant: Box<dyn Contestant>,
    _upstream: Rc<Upstream>,
}

fn kept(
    upstream: &Rc<Upstream>,
    contestant: Result<Box<dyn Contestant>, Error>,
) -> Result<Box<dyn Contestant>, Error> {
    let upstream = Rc::clone(upstream);
    contestant.map(|contestant| Box::new(Kept { contestant, _upstream: upstream }) as Box<dyn Contestant>)
}

impl Contestant for Kept {
    fn answer(&mut self) -> Result<String, Error> {
        self.contestant.answer()
    }

    fn sample(&mut self, iterations: u64) -> Result<crate::cost::Cost, Error> {
        self.contestant.sample(iterations)
    }
}

fn small_body(index: usize) -> String {
    let text = format!("Question {index}. {}", "Say something about rivers and why they bend. ".repeat(40));
    format!(
        "{{\"model\":\"gpt-4o-mini\",\"messages\":[{{\"role\":\"system\",\"content\":\"You are brief.\"}},\
         {{\"role\":\"user\",\"content\":\"{text}\"}}],\"max_tokens\":64}}"
    )
}

/// The same scaffold, another last question.
fn large_body(index: usize) -> String {
    let body = request::body();
    let end = body.rfind("\"}]").unwrap_or(body.len());
    format!("{} Question {index}.{}", &body[..end], &body[end..])
}
