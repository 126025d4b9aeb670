"""The same loops, driven by a configured provider (contract: deliberation, 6).

Each step is taken through the ordinary tools, so it is saved the moment it is made, obeys the same gate, and
whatever stops the autopilot leaves a session that can be resumed by autopilot or by hand.
"""

import tomllib
from dataclasses import replace
from functools import cache
from typing import Any

from treewright.data import data_path
from treewright.deliberate.critique import form_for
from treewright.deliberate.digest import compress
from treewright.deliberate.guidance import Situation, situation_of
from treewright.deliberate.ports import Endpoint, ModelTask, TaskPlan
from treewright.deliberate.reading import SCORES_SHAPE, read_text
from treewright.deliberate.reply import Refusal, Reply, answer
from treewright.deliberate.session import Session, Thought
from treewright.deliberate.settings import DeliberationSettings
from treewright.deliberate.specialists import brief_for, role_due
from treewright.deliberate.subagent_tools import SubagentTools
from treewright.deliberate.toolbox import Rule, admit, tool
from treewright.deliberate.utility import DIMENSIONS

MAX_TRIES = 3
"""How often the model is asked for one step before the autopilot stops."""

STEP_LIMIT = 500
"""More steps than any settings can need for one thought (50 rounds of 4 steps, or of 12 candidates)."""

_TOOL_OF: dict[Situation, tuple[str, str]] = {
    "serial_begin": ("begin_thought", "content"),
    "serial_critique": ("critique_current_thought", ""),
    "serial_submit": ("submit_critique", "text"),
    "serial_refine": ("refine_current_thought", "new_content"),
    "serial_score": ("score_current_thought", "scores"),
    "serial_next_lens": ("critique_current_thought", ""),
    "serial_converged": ("commit_thought", ""),
    "subagent_begin": ("begin_subagent_thought", ""),
    "subagent_candidate": ("advance_subagent_round", "candidate"),
    "subagent_round": ("advance_subagent_round", ""),
    "subagent_again": ("advance_subagent_round", ""),
    "subagent_settled": ("commit_subagent_thought", ""),
}
"""The tool for each situation, and its parameter that a model fills in."""


@cache
def _prompts() -> dict[str, str]:
    raw = tomllib.loads(data_path("deliberate", "autopilot.toml").read_text(encoding="utf-8"))
    return {name: text.strip("\n") for name, text in raw["prompt"].items()}


class AutopilotTools(SubagentTools):
    """Run one thought of the current stage from wherever it stands to its commit."""

    @tool(opens="id")
    def run_stage_autopilot(
        self, session_id: str, stage: object = None, initial_content: object = None
    ) -> Reply:
        """Think one thought of a serial session through."""
        return self._drive(session_id, "serial", stage, initial_content)

    @tool(opens="id")
    def run_subagent_autopilot(
        self, session_id: str, stage: object = None, initial_content: object = None
    ) -> Reply:
        """Think one thought of a subagent session through."""
        return self._drive(session_id, "subagent", stage, initial_content)

    def _drive(self, session_id: str, rule: Rule, stage: object, initial_content: object) -> Reply:
        wanted = read_text("stage", stage, "Analysis", required=False)
        initial = read_text("initial_content", initial_content, "Cache reads.", required=False)
        self._available()
        with self.reading(session_id) as session:
            admit(session, rule, f"run_{'stage' if rule == 'serial' else 'subagent'}_autopilot")
            if wanted and wanted.casefold() != session.current_stage.casefold():
                raise Refusal("stage_mismatch", stage=session.current_stage, wanted=wanted[:60])
        for _ in range(STEP_LIMIT):
            reply = self._step(session_id, rule, initial)
            if reply is not None:
                return reply
        raise Refusal("autopilot_incomplete", fault="it took too many steps")

    def _available(self) -> None:
        settings = self._around.settings.autopilot
        if not settings.enabled:
            raise Refusal("autopilot_unavailable", fault="[autopilot] enabled is false")
        if self._around.driver is None:
            raise Refusal("autopilot_unavailable", fault="no provider of language models is connected")

    def _step(self, session_id: str, rule: Rule, initial: str) -> Reply | None:
        """Take one step; return the final reply when it committed a thought."""
        with self.reading(session_id) as session:
            situation = _begin_another(situation_of(session, self.settings_of(session)), rule)
            if situation not in _TOOL_OF:
                raise Refusal("autopilot_incomplete", fault=f"the session is now {situation}")
            name, parameter = _TOOL_OF[situation]
            task = self._task(session, situation) if parameter else None
            thought = session.current_thought
        arguments: dict[str, object] = {}
        if situation == "subagent_begin" and initial:
            arguments["content"] = initial
        elif task is not None and not (situation == "serial_begin" and initial):
            self._with_model(session_id, name, parameter, task)
            return None
        elif parameter:
            arguments[parameter] = initial
        reply = self.call_tool(name, session_id, arguments)
        if not reply["ok"] and reply["code"] != "no_endpoint":
            raise _incomplete(reply)
        return self._committed(reply, thought) if name.startswith("commit") and thought else None

    def _with_model(self, session_id: str, name: str, parameter: str, task: ModelTask) -> None:
        """Ask the model for a step until the tool takes its answer."""
        fault, shape, again = "", "", task
        for number in range(MAX_TRIES):
            if number:
                prompt = _prompts()["again"].format(prompt=task.prompt, fault=fault, shape=shape)
                again = replace(task, id=f"{task.id}:{number}", prompt=prompt)
            text = self._ask(again)
            arguments: dict[str, object] = {parameter: text}
            if task.kind == "candidate":
                with self.reading(session_id) as session:
                    arguments["scores"] = self._ask(self._score_task(session, text, f"{again.id}:score"))
            reply = self.call_tool(name, session_id, arguments)
            if reply["ok"]:
                return
            if reply["code"] not in ("retry_with_clarification", "empty_critique", "empty_refinement"):
                raise _incomplete(reply)
            fault, shape = reply["message"], str(reply.get("shape", "plain text"))
        raise Refusal(
            "autopilot_incomplete", fault=f"the model gave no usable {task.kind} in {MAX_TRIES} tries"
        )

    def call_tool(self, name: str, session_id: str, arguments: dict[str, object]) -> Reply:
        """Call one of the tools by its exact name."""
        reply: Reply = getattr(self, name)(session_id, **arguments)
        return reply

    def _ask(self, task: ModelTask) -> str:
        driver = self._around.driver
        if driver is None:
            raise Refusal("autopilot_unavailable", fault="no provider of language models is connected")
        endpoint = driving_endpoint(self._around.settings)
        answers = driver.perform(TaskPlan([task], [endpoint] if endpoint else []))
        if task.id not in answers.texts:
            fault = answers.faults.get(task.id, "the model did not answer")
            raise Refusal("autopilot_incomplete", fault=fault.rstrip("."))
        return answers.texts[task.id]

    def _task(self, session: Session, situation: Situation) -> ModelTask | None:
        """Return what the model has to do in a situation."""
        thought = session.current_thought
        if situation == "serial_begin":
            digest, _ = compress(session)
            context = f"What earlier stages settled:\n{digest}\n\n" if digest else ""
            number = len(session.thoughts)
            return self._prompted(session, f"{session.id}:{number}:draft", "draft", context=context)
        if thought is None:
            return None
        step = f"{thought.id}:{len(thought.critique_rounds)}:{len(thought.specialist_rounds)}"
        if situation == "subagent_candidate":
            settings = self.settings_of(session)
            brief = brief_for(session, thought, settings, self._around.lenses, compress(session)[0])
            prompt = brief.candidate_prompt(role_due(thought, settings))
            return ModelTask(
                f"{step}:candidate", "candidate", prompt, self._around.settings.autopilot.temperature
            )
        text = thought.latest_text
        if situation == "serial_submit":
            return self._critique_task(session, thought.critique_rounds[-1].lens, text, f"{step}:critique")
        if situation == "serial_refine":
            critique = thought.critique_rounds[-1].critique_text
            return self._prompted(session, f"{step}:refine", "refine", critique=critique, text=text)
        return self._score_task(session, text, f"{step}:score")

    def _critique_task(self, session: Session, name: str, text: str, task_id: str) -> ModelTask:
        lens = self._around.lenses.get(name)
        form = form_for(lens, text, session.question) if lens else None
        if lens is None or form is None:
            directive = lens.directive if lens else f"Criticise the text: {name}."
            return self._prompted(session, task_id, "critique", directive=directive, text=text)
        fields = {"directive": lens.guidance, "text": text, "asked": form.lines()}
        return replace(
            self._prompted(session, task_id, "critique_form", **fields), kind="critique", form=form
        )

    def _prompted(self, session: Session, task_id: str, kind: str, **fields: str) -> ModelTask:
        prompt = _prompts()[kind].format(question=session.question, stage=session.current_stage, **fields)
        return ModelTask(task_id, kind, prompt, self._around.settings.autopilot.temperature)

    def _score_task(self, session: Session, text: str, task_id: str) -> ModelTask:
        prompt = _prompts()["score"].format(
            question=session.question,
            stage=session.current_stage,
            text=text,
            dimensions=", ".join(DIMENSIONS),
        )
        return ModelTask(task_id, "score", prompt, 0.0, scores_wanted=True)

    def _committed(self, reply: Reply, thought: Thought) -> Reply:
        facts: dict[str, Any] = {
            "next_tool": reply["next_tool"],
            "thought_id": thought.id,
            "content": thought.content,
            "converged_reason": reply["converged_reason"],
        }
        with self.reading(reply["session_id"]) as session:
            line = self.line(session)
        return answer(
            "autopilot",
            facts,
            position=thought.position,
            stage=thought.stage,
            reason=reply["converged_reason"],
            line=line,
        )


def driving_endpoint(settings: DeliberationSettings) -> Endpoint | None:
    """Return what the autopilot calls: an address and a model there, or a provider's name; None for the configured default."""
    own = settings.autopilot
    url, model = (own.endpoint, own.model) if own.endpoint else (own.model, "")
    return Endpoint(url, model, settings.subagent.timeout, use_operator_key=True) if url else None


def _begin_another(situation: Situation, rule: Rule) -> Situation:
    """Read a stage that already has thoughts as one that gets another."""
    if situation in ("stage_done", "last_stage_done"):
        return "serial_begin" if rule == "serial" else "subagent_begin"
    return situation


def _incomplete(reply: Reply) -> Refusal:
    return Refusal(
        "autopilot_incomplete", fault=str(reply["message"]).rstrip("."), facts={"shape": SCORES_SHAPE}
    )
