//! One node of a run, whole, with what models were asked on its behalf.

use stave_exec::dataflow::Origin;
use stave_runtime::evidence;
use stave_runtime::report_document::TokenUsage;

use super::run_view::StoredView;
use crate::api::prompt_types::{AskedPrompt, Block, BlockCache, PromptVerdict, Turn};
use crate::api::run_view_types::{FilePlace, NodeRunWhole};
use crate::handlers::Call;
use crate::handlers::runs::find_shown;
use crate::problem::Problem;

pub(super) async fn show(call: &Call<'_>, run: &str, node: &str) -> Result<NodeRunWhole, Problem> {
    let (_, stored) = find_shown(call, run).await?;
    let view = StoredView::new(&stored)?;
    let report = view.nodes().find(|report| report.id == node);
    let report = report.ok_or_else(|| Problem::not_found("node", node).of_run(run))?;
    let origins = view.text_origins(node);
    let requests = evidence::asked_requests(&report.questions);
    let questions = requests.iter().map(|request| shown(request, origins));
    Ok(view.whole_node(report, questions.collect()))
}

/// A wire request with what follows from it: which blocks came from the provider's cache, which are the same for
/// every request, and the lines that they were written on.
fn shown(request: &evidence::AskedRequest<'_>, origins: &[(String, Origin)]) -> AskedPrompt {
    let question = request.prompt;
    let usage = request.turn.and_then(|turn| turn.usage).unwrap_or_default();
    let origin = |name: &str| -> Option<Origin> {
        // A value that is not a text of its own is where the template names it.
        let of = |wanted: &str| origins.iter().find(|(key, _)| key == wanted).map(|(_, origin)| *origin);
        of(name).or_else(|| of("template"))
    };
    let mut sum: u64 = 0;
    let blocks = request.blocks.iter().enumerate().map(|(index, block)| {
        sum = sum.saturating_add(block.tokens.map(u64::from).unwrap_or_default());
        let cache = match sum {
            sum if sum <= usage.cache_read => BlockCache::Read,
            sum if sum <= usage.cache_read.saturating_add(usage.cache_write) => BlockCache::Written,
            _ => BlockCache::None,
        };
        Block {
            index: index as u64,
            name: block.name.clone().into(),
            span_id: block.span_id.clone().into(),
            role: block.role,
            content_type: block.content_type,
            provenance: block.provenance,
            sensitivity: block.sensitivity,
            tokens: block.tokens.into(),
            content: block.content.clone(),
            truncated: block.truncated,
            withheld: block.withheld,
            cache,
            stable: matches!(block.provenance.word(), "developer" | "system"),
            origin: origin(block.name.as_deref().unwrap_or_default()).map(FilePlace::from).into(),
        }
    });
    let turns = request.turn.into_iter().map(|turn| Turn {
        number: request.index as u64,
        text: turn.text.clone().into(),
        tool_calls: turn.tool_calls.clone(),
        tool_results: turn.tool_results.clone(),
        usage: turn.usage.map(usage_of).into(),
        stop: turn.stop.clone().into(),
    });
    AskedPrompt {
        path: question.path.clone(),
        provider: question.provider.clone(),
        model: question.model.clone(),
        asked_at: request.asked_at.map(str::to_owned).into(),
        prompt_ir: question.prompt_ir.clone().into(),
        tokens: question.tokens.into(),
        budget: question.budget.into(),
        verdict: PromptVerdict {
            approved: question.verdict.approved,
            stage: question.verdict.stage.clone().into(),
            violations: question.verdict.violations.clone(),
        },
        transformations: question.transformations.clone(),
        cuts: question.cuts.clone(),
        gate: question.gate.clone(),
        blocks: blocks.collect(),
        turns: turns.collect(),
    }
}

/// The tokens of a turn under the names of the run API.
fn usage_of(usage: evidence::TurnUsage) -> TokenUsage {
    TokenUsage {
        input_tokens: usage.input,
        output_tokens: usage.output,
        cache_read_tokens: usage.cache_read,
        cache_write_tokens: usage.cache_write,
    }
}
