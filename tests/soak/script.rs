//! What an upstream does with the attempt of a request. Both sides know it, so every byte can be compared.

use std::fmt::Write as _;

use crate::random::Random;

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As it should.
    Whole,
    /// The connection is reset; bytes on the way may be lost.
    Reset,
    /// The connection is closed too early.
    Closed,
    /// Nothing comes any more, and the connection stays open.
    Stalled,
}

#[derive(Debug, Clone)]
pub(crate) struct Script {
    /// `None` when not even a head is sent.
    pub(crate) status: Option<u16>,
    pub(crate) is_stream: bool,
    /// The body as far as it is sent, in the pieces in which it is.
    pub(crate) pieces: Vec<Vec<u8>>,
    pub(crate) ending: Ending,
    /// Bytes that are not HTTP.
    pub(crate) garbage: bool,
    /// How much longer the head says that the body is than it is.
    pub(crate) missing: usize,
}

impl Script {
    /// The n-th request's attempt at the upstream that misbehaves, counted from 1.
    pub(crate) fn faulty(request: u64, attempt: u32, is_stream: bool) -> Script {
        let mut random = Random::new(request.wrapping_mul(31).wrapping_add(u64::from(attempt)));
        let chance = random.below(1000);
        let mut script = Script::good(request, attempt, is_stream, &mut random);
        let half = |script: &mut Script, random: &mut Random| {
            let keep = random.below(script.pieces.len().max(1));
            script.pieces.truncate(keep);
        };
        match chance {
            0..620 => {}
            620..680 => script.fail(429, "rate_limit_exceeded"),
            680..720 => script.fail(500, "server_error"),
            720..760 => script.fail(503, "overloaded"),
            760..800 => {
                script.status = None;
                script.pieces.clear();
                script.ending = Ending::Reset;
            }
            800..840 => {
                script.garbage = true;
                script.pieces = vec![vec![0xff, 0x00, 0x0d, b'?', b'<', 0xfe]];
                script.ending = Ending::Closed;
            }
            840..880 => {
                half(&mut script, &mut random);
                script.ending = Ending::Reset;
            }
            880..930 => {
                half(&mut script, &mut random);
                script.missing = 10;
                script.ending = Ending::Closed;
            }
            930..960 => script.pieces = vec![b"{\"choices\": [ not JSON \xff\xfe".to_vec()],
            960..985 => {
                half(&mut script, &mut random);
                script.missing = 10;
                script.ending = Ending::Stalled;
            }
            _ => {
                script.status = None;
                script.pieces.clear();
                script.ending = Ending::Stalled;
            }
        }
        script
    }

    /// What the upstream does that never fails.
    pub(crate) fn steady(request: u64, is_stream: bool) -> Script {
        Script::good(request, 0, is_stream, &mut Random::new(request))
    }

    fn good(request: u64, attempt: u32, is_stream: bool, random: &mut Random) -> Script {
        let body = if is_stream { stream(request, attempt, random) } else { whole(request, attempt, random) };
        let mut pieces = Vec::new();
        let mut rest = body.as_bytes();
        while !rest.is_empty() {
            // Pieces end anywhere, also within a character and within a line.
            let (piece, after) = rest.split_at(rest.len().min(1 + random.below(1500)));
            pieces.push(piece.to_vec());
            rest = after;
        }
        Script { status: Some(200), is_stream, pieces, ending: Ending::Whole, garbage: false, missing: 0 }
    }

    fn fail(&mut self, status: u16, kind: &str) {
        self.status = Some(status);
        self.is_stream = false;
        self.pieces =
            vec![format!("{{\"error\":{{\"type\":\"{kind}\",\"message\":\"{kind}\"}}}}").into_bytes()];
    }

    /// For those who look for a fault.
    pub(crate) fn told(&self) -> String {
        let Script { status, is_stream, ending, garbage, .. } = self;
        let bytes = self.body().len();
        format!("{status:?} stream {is_stream} {bytes} bytes {ending:?} garbage {garbage}")
    }

    /// Everything that is sent of the body.
    pub(crate) fn body(&self) -> Vec<u8> {
        self.pieces.concat()
    }
}

fn whole(request: u64, attempt: u32, random: &mut Random) -> String {
    let length = random.below(4000);
    format!(
        "{{\"id\":\"soak-{request}-{attempt}\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"gpt-4o-mini\",\
         \"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\"content\":\"{}\"}},\"finish_reason\":\"stop\"}}],\
         \"usage\":{{\"prompt_tokens\":100,\"completion_tokens\":20,\"total_tokens\":120}}}}",
        random.words(length)
    )
}

/// Events with comments, ids, blank lines and both kinds of line ends, all of which have to pass.
fn stream(request: u64, attempt: u32, random: &mut Random) -> String {
    let mut text = format!(": soak {request} {attempt}\n\nretry: 3000\n\n");
    for index in 0..2 + random.below(60) {
        let end = if random.below(4) == 0 { "\r\n" } else { "\n" };
        match random.below(8) {
            0 => {
                let _ = write!(text, ": keep-alive {index}{end}{end}");
            }
            1 => {
                let _ = write!(text, "id: {request}-{index}{end}");
            }
            2 => text.push_str(end),
            _ => {}
        }
        let length = 5 + random.below(200);
        let _ = write!(
            text,
            "data: {{\"id\":\"soak-{request}-{attempt}\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-4o-mini\",\
             \"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{}\"}},\"finish_reason\":null}}]}}{end}{end}",
            random.words(length)
        );
    }
    text.push_str(
        "data: {\"id\":\"soak\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-4o-mini\",\
         \"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\
         \"usage\":{\"prompt_tokens\":100,\"completion_tokens\":20,\"total_tokens\":120}}\n\ndata: [DONE]\n\n",
    );
    text
}
