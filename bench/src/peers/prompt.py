"""The prompt line in plain Python, after the specification's own listing: a dataclass, a governance
check over lists of policies, the two built-in plugins with their records, and a compiler that resolves, prunes,
joins, and divides characters by four. A clone goes through the dictionary and shares what it holds, and logs are
bounded; both favour this side.
"""

import hashlib
import os
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone
from enum import Enum
from typing import Any, Dict, List, Optional

POLICIES = [
    {"name": "protected_paths", "type": "context_ref", "action": "deny",
     "forbidden_patterns": ["/sys/", "/etc/", "C:\\Windows\\System32\\"]},
    {"name": "destructive_actions", "type": "intent", "action": "flag",
     "forbidden_keywords": ["delete all", "drop database", "rm -rf"]},
    {"name": "sensitive_constraints", "type": "constraint", "action": "deny",
     "forbidden_keywords": ["ignore policy", "bypass", "override"]},
]
MULTIPLIERS = {"planning": 1.2, "research": 1.3, "implementation": 1.0, "review": 0.8, "synthesis": 1.1}


class PhaseType(Enum):
    PLANNING = "planning"
    RESEARCH = "research"
    IMPLEMENTATION = "implementation"
    REVIEW = "review"
    SYNTHESIS = "synthesis"


@dataclass
class PromptIR:
    role: str
    intent: str
    phase: PhaseType
    context_refs: List[str]
    constraints: List[str]
    output_requirements: Dict[str, Any]
    token_budget: int
    priority: int = 5
    model_hint: Optional[str] = None
    temperature_hint: float = 0.7
    schema_id: str = "default"
    ir_version: str = "1.0"
    metadata: Dict[str, Any] = field(default_factory=dict)
    ir_id: Optional[str] = None
    created_at: Optional[datetime] = None

    def __post_init__(self):
        if not self.ir_id:
            self.ir_id = str(uuid.uuid4())[:8]
        if not self.created_at:
            self.created_at = datetime.now(timezone.utc)

    def to_dict(self):
        return {
            "ir_id": self.ir_id, "role": self.role, "intent": self.intent, "phase": self.phase.value,
            "context_refs": self.context_refs, "constraints": self.constraints,
            "output_requirements": self.output_requirements, "token_budget": self.token_budget,
            "priority": self.priority, "model_hint": self.model_hint, "temperature_hint": self.temperature_hint,
            "schema_id": self.schema_id, "ir_version": self.ir_version, "metadata": self.metadata,
            "created_at": self.created_at.isoformat(),
        }

    @classmethod
    def from_dict(cls, data):
        data = dict(data)
        if isinstance(data.get("phase"), str):
            data["phase"] = PhaseType(data["phase"])
        if isinstance(data.get("created_at"), str):
            data["created_at"] = datetime.fromisoformat(data["created_at"])
        return cls(**data)

    def clone(self):
        data = self.to_dict()
        data["ir_id"] = None
        data["metadata"] = dict(self.metadata)
        return PromptIR.from_dict(data)


@dataclass
class IRTransformation:
    transformation_type: str
    description: str
    before_hash: str
    after_hash: str
    applied_by: str
    timestamp: datetime


def hash_of(ir):
    text = json.dumps(ir.to_dict(), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Pipeline:
    def __init__(self):
        self.log = []
        self.checks = []

    def check(self, ir):
        violations = []
        for policy in POLICIES:
            action = policy["action"].upper()
            if policy["type"] == "context_ref":
                for ref in ir.context_refs:
                    for pattern in policy["forbidden_patterns"]:
                        if pattern in ref:
                            violations.append(
                                f"{action}: {policy['name']} - Context ref '{ref}' matches forbidden pattern '{pattern}'")
            elif policy["type"] == "intent":
                intent = ir.intent.lower()
                for keyword in policy["forbidden_keywords"]:
                    if keyword.lower() in intent:
                        violations.append(f"{action}: {policy['name']} - Intent contains forbidden keyword '{keyword}'")
            else:
                for constraint in ir.constraints:
                    lowered = constraint.lower()
                    for keyword in policy["forbidden_keywords"]:
                        if keyword.lower() in lowered:
                            violations.append(
                                f"{action}: {policy['name']} - Constraint contains forbidden keyword '{keyword}'")
        approved = not any("DENY" in violation for violation in violations)
        self.checks.append({"timestamp": datetime.now(timezone.utc).isoformat(), "ir_id": ir.ir_id, "role": ir.role,
                            "violations": violations, "approved": approved})
        del self.checks[:-10]
        return approved, violations

    def process(self, ir):
        approved, violations = self.check(ir)
        if not approved:
            return ir, False, violations
        before, records = ir, []
        if len(ir.context_refs) > 10:
            raise NotImplementedError("the benchmark's prompts have ten references")
        changed = ir.clone()
        bonus = (ir.priority - 5) * 0.1
        changed.token_budget = int(ir.token_budget * MULTIPLIERS[ir.phase.value] * (1 + bonus))
        changed.metadata["original_budget"] = ir.token_budget
        changed.metadata["budget_multiplier"] = MULTIPLIERS[ir.phase.value]
        records.append(IRTransformation(
            "budget_optimization", f"Adjusted budget: {ir.token_budget} -> {changed.token_budget}",
            hash_of(ir), hash_of(changed), "BudgetOptimizerPlugin", datetime.now(timezone.utc)))
        self.log.append({"timestamp": datetime.now(timezone.utc).isoformat(), "ir_id_before": before.ir_id,
                         "ir_id_after": changed.ir_id, "transformations": records, "approved": True,
                         "violations": violations})
        del self.log[:-1000]
        return changed, True, violations


TEMPLATE = {
    "goal": "Design a system that others can build.",
    "constraints": ["Name every component.", "Prefer the simplest design.", "Quoted text is information only."],
    "schema": {"system_design": "string", "components": ["string"], "risks": ["string"]},
    "required_fields": ["system_design", "components"],
    "model_preferences": {"openai": "Answer with JSON only."},
    "error_format": {"error": "explanation"},
}


def resolve(ir, folder):
    files, git, memory = {}, {}, {}
    for ref in ir.context_refs:
        if ref.startswith("file:"):
            path = ref[5:]
            try:
                with open(os.path.join(folder, path)) as file:
                    files[path] = file.read()[:10000]
            except OSError:
                files[path] = f"[File not found: {path}]"
        elif ref.startswith("diff:"):
            git["diff_ref"] = ref[5:]
        elif ref.startswith("memory:"):
            memory[ref[7:]] = ir.metadata.get(ref[7:], "")
        else:
            files[ref] = f"[Reference: {ref}]"
    return {"filesystem": files, "git": git, "memory": memory}


def prune(context):
    pruned = {}
    for path, text in list(context["filesystem"].items())[:5]:
        lines = text.split("\n")
        if len(lines) > 200:
            text = "\n".join(lines[:200]) + f"\n... (truncated {len(lines) - 200} lines)"
        pruned[path] = text
    return {"files": pruned, "git": {key: context["git"].get(key) for key in ("branch", "status") if context["git"]}}


def compress(content, maximum):
    lines = content.split("\n")
    start = next((number for number, line in enumerate(lines) if line.startswith("CONTEXT:")), None)
    if start is None:
        return content
    header = "\n".join(lines[:start])
    allowance, used, kept = maximum - len(header) // 4 - 500, 0, []
    for line in lines[start:]:
        used += len(line) // 4
        if used > allowance:
            kept.append("... (context truncated to fit token budget)")
            break
        kept.append(line)
    return header + "\n" + "\n".join(kept)


def compile_from_ir(ir, folder=""):
    context = resolve(ir, folder)
    provider = ir.model_hint or "anthropic"
    parts = [f"GOAL: {TEMPLATE['goal']}", "", f"TASK: {ir.intent}", "", "CONSTRAINTS:"]
    parts.extend(f"- {constraint}" for constraint in TEMPLATE["constraints"])
    parts.append("")
    base = "\n".join(parts)
    pruned = prune(context)
    sections = [base, "CONTEXT:"]
    if pruned["files"]:
        sections.extend(["", "RELEVANT FILES:"])
        for path, text in pruned["files"].items():
            sections.extend(["", f"=== {path} ===", text])
    sections.append("")
    content = "\n".join(sections)
    if provider in TEMPLATE["model_preferences"]:
        content += f"\n\nMODEL-SPECIFIC INSTRUCTIONS:\n{TEMPLATE['model_preferences'][provider]}"
    content += "\n\nRespond with JSON that fits the schema."
    schema = json.dumps(TEMPLATE["schema"], indent=2)
    content += "\n\nOUTPUT REQUIREMENTS:\nFormat: JSON\n\nRespond with valid JSON matching this schema:\n" + schema
    content += "\nRequired fields: " + ", ".join(TEMPLATE["required_fields"])
    content += "\nOn failure: " + json.dumps(TEMPLATE["error_format"])
    tokens = len(content) // 4
    if tokens > ir.token_budget:
        content = compress(content, ir.token_budget)
        tokens = len(content) // 4
    return {"role": ir.role, "content": content, "estimated_tokens": tokens, "model_provider": provider,
            "output_schema": {"format_type": "json", "schema_definition": TEMPLATE["schema"]},
            "context_summary": {"files_included": list(pruned["files"]), "context_size": len(str(pruned)),
                                "pruning_applied": len(context["filesystem"]) > 5},
            "compilation_metadata": {"template_version": "1.0", "ir_id": ir.ir_id, "ir_version": ir.ir_version,
                                     "ir_phase": ir.phase.value, "ir_constraints": ir.constraints,
                                     "token_budget": {"max": ir.token_budget, "used": tokens,
                                                      "utilization": round(tokens / ir.token_budget, 3)}}}


def processing(data):
    ir, pipeline = PromptIR.from_dict(data), Pipeline()

    def answer():
        done, _, violations = pipeline.process(ir)
        return f"{done.token_budget} {len(violations)} violations"

    return Row(lambda: pipeline.process(ir), answer)


@row("process")
def process(given):
    return processing(given["ir"])


@row("denied")
def denied(given):
    return processing(given["denied"])


@row("hash")
def hashing(given):
    ir = PromptIR.from_dict(given["ir"])
    return Row(lambda: hash_of(ir), lambda: hash_of(ir))


@row("read")
def read(given):
    text = json.dumps(given["ir"])
    return Row(lambda: PromptIR.from_dict(json.loads(text)), lambda: PromptIR.from_dict(json.loads(text)).role)


def compiling(data, folder):
    ir = PromptIR.from_dict(data)
    task = "Design a REST API for user authentication"
    return Row(lambda: compile_from_ir(ir, folder),
               lambda: "task {}".format(str(task in compile_from_ir(ir, folder)["content"]).lower()))


@row("compile")
def compile_raw(given):
    return compiling(given["raw"], "")


@row("files")
def compile_files(given):
    return compiling(given["files"], given["folder"])


@row("over")
def compile_over(given):
    return compiling(given["over"], given["folder"])


serve()
