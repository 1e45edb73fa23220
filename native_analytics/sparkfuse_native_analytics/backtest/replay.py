"""Evaluates rules on the store's history, job by job: the runs that a rule matches and those it would have stopped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.backtest.ended_runs import Place, Run, ended_runs, stages_of
from sparkfuse_native_analytics.backtest.evaluation import VIEWS_IN_HISTORY, Evaluation, evaluate_rules
from sparkfuse_native_analytics.backtest.expected_runs import ExpectedRun, expected_runs
from sparkfuse_native_analytics.offline.evaluate import SEVERITIES, Finding
from sparkfuse_native_analytics.offline.finding_groups import group_findings
from sparkfuse_rules.compiled import CompiledRule
from sparkfuse_rules.compiler import needed_columns, undecidable_columns
from sparkfuse_rules.knowledge.training_samples import COMPLETE, capped_severity
from sparkfuse_rules.rule import Rule

# Number of runs whose rows are evaluated in one batch.
RUNS_AT_ONCE = 200


@dataclass
class JobResult:
    """The result of a rule for one job.

    All counts are numbers of runs, except ``stages``, the number of stage attempts that match. ``judged`` counts the
    runs that have a row with all columns of the rule. ``critical``, ``warning`` and ``info`` count the runs by the
    worst severity that would have fired. ``silenced`` counts the runs in which the rule matched only as a symptom.
    ``stopped`` counts the runs on which the fuse controller would have acted; None for a rule without a fuse.
    """

    job_key: str
    runs: int = 0
    judged: int = 0
    critical: int = 0
    warning: int = 0
    info: int = 0
    silenced: int = 0
    stages: int = 0
    stopped: int | None = None

    @property
    def matched(self) -> int:
        """The number of runs in which the rule would have fired."""
        return self.critical + self.warning + self.info

    @property
    def per_100_runs(self) -> float | None:
        """The number of runs in which the rule would have fired, per 100 evaluated runs; None if there are none."""
        return round(100 * self.matched / self.judged, 2) if self.judged else None


@dataclass
class RuleResult:
    """The result of a rule for all jobs. ``not_decidable`` is the reason why the rule was not evaluated, or None."""

    rule: str
    view: str
    action: str | None
    not_decidable: str | None
    jobs: list[JobResult] = field(default_factory=list)

    def total(self) -> JobResult:
        """Return the sums over all jobs."""
        whole = JobResult("", stopped=None if self.action is None else 0)
        for name in ("runs", "judged", "critical", "warning", "info", "silenced", "stages"):
            setattr(whole, name, sum(getattr(job, name) for job in self.jobs))
        if whole.stopped is not None:
            whole.stopped = sum(job.stopped or 0 for job in self.jobs)
        return whole


@dataclass
class Backtest:
    """The results of the rules, and the number of runs and of jobs in the period (``since_ms`` to ``until_ms``)."""

    since_ms: int
    until_ms: int
    runs: int
    jobs: int
    rules: list[RuleResult]


def backtest(
    client: Client,
    rules: Iterable[Rule],
    since_ms: int,
    until_ms: int,
    *,
    job_key: str | None = None,
    only: Sequence[str] = (),
) -> Backtest:
    """Evaluate the rules on all ended runs that started between ``since_ms`` and ``until_ms``.

    Each run is compared with the runs that ended before it started, including those before ``since_ms``. All rules are
    evaluated, because one rule can inhibit another rule; ``only`` selects the rules whose results are returned. Raises
    StoreEmptyError, StoreOlderError.
    """
    known = list(rules)
    wanted = [rule for rule in known if not only or rule.id in only]
    results = {rule.id: RuleResult(rule.id, rule.view, _action(rule), _undecidable_reason(rule)) for rule in wanted}
    decided = [rule for rule in known if _undecidable_reason(rule) is None]
    runs = sorted(ended_runs(client, job_key), key=lambda run: run.job_key)
    judged, jobs = 0, 0
    for job, of_job in groupby(runs, key=lambda run: run.job_key):
        within = [run for run in of_job if run.started_ms <= until_ms]
        inside = sum(run.started_ms >= since_ms for run in within)
        if not inside:
            continue
        judged, jobs = judged + inside, jobs + 1
        for result in _of_job(client, decided, job, within, since_ms):
            if result[0] in results:
                results[result[0]].jobs.append(result[1])
    found = [_without_evidence(results[rule.id], rule) for rule in wanted]
    return Backtest(since_ms, until_ms, judged, jobs, found)


def _action(rule: Rule) -> str | None:
    return (rule.fuse.stops or rule.fuse.actions)[0] if rule.fuse else None


def _undecidable_reason(rule: Rule) -> str | None:
    if rule.view not in VIEWS_IN_HISTORY:
        return f"needs the view {rule.view}, which history does not contain"
    if lacking := undecidable_columns(rule, "history"):
        return f"needs columns that exist only while an application runs: {', '.join(lacking)}"
    return None


def _without_evidence(result: RuleResult, rule: Rule) -> RuleResult:
    """Return the result; if no run has all columns of the rule, the result is marked as not decidable."""
    if result.not_decidable is None and result.jobs and not any(job.judged for job in result.jobs):
        result.not_decidable = f"no run has all columns of the rule: {', '.join(needed_columns(rule))}"
    return result


def _of_job(
    client: Client, rules: Sequence[Rule], job_key: str, runs: Sequence[Run], since_ms: int
) -> Iterator[tuple[str, JobResult]]:
    variants = {rule.id: variant for rule in rules if (variant := rule.for_job(job_key)) is not None}
    results = {name: JobResult(job_key, stopped=0 if rule.fuse else None) for name, rule in variants.items()}
    expected = list(expected_runs(runs, stages_of(client, runs), since_ms))
    for first in range(0, len(expected), RUNS_AT_ONCE):
        batch = expected[first : first + RUNS_AT_ONCE]
        by_run: dict[Place, list[Evaluation]] = {each.run.place: [] for each in batch}
        for evaluation in evaluate_rules(client, list(variants.values()), batch):
            by_run[evaluation.place].append(evaluation)
        for each in batch:
            _count(results, variants, each, by_run[each.run.place])
    yield from results.items()


def _count(
    results: Mapping[str, JobResult], rules: Mapping[str, Rule], run: ExpectedRun, evaluations: Sequence[Evaluation]
) -> None:
    judged = {evaluation.rule for evaluation in evaluations}
    worst, symptoms = _fired(rules, [evaluation for evaluation in evaluations if evaluation.severity is not None])
    for name, result in results.items():
        result.runs += 1
        result.judged += name in judged
        if severity := worst.get(name):
            setattr(result, severity, getattr(result, severity) + 1)
        elif name in symptoms:
            result.silenced += 1
        of_rule = [
            evaluation for evaluation in evaluations if evaluation.rule == name and evaluation.severity is not None
        ]
        result.stages += sum(evaluation.stage is not None for evaluation in of_rule)
        if result.stopped is not None:
            result.stopped += any(_acts(rules[name], evaluation, run) for evaluation in of_rule)


def _fired(rules: Mapping[str, Rule], matches: Sequence[Evaluation]) -> tuple[Mapping[str, str], set[str]]:
    """Return the worst severity of each rule that fires, and the rules that match as a symptom at least once."""
    findings = sorted((_finding(rules[each.rule], each) for each in matches), key=_rank)
    worst: dict[str, str] = {}
    symptoms = set()
    for each in group_findings(findings, {}):
        if each.inhibited_by is not None:
            symptoms.add(each.finding.rule.id)
        else:
            worst.setdefault(each.finding.rule.id, each.finding.severity)
    return worst, symptoms


def _rank(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)


def _finding(rule: Rule, evaluation: Evaluation) -> Finding:
    severity = evaluation.severity or ""
    capped = severity if rule.absence else capped_severity(severity, evaluation.completeness)
    compiled = CompiledRule(rule.id, rule.view, rule.summary, rule.description, rule.runbook, "", (), (), rule.inhibits)
    row = {} if evaluation.stage is None else {"stage_id": evaluation.stage[0]}
    return Finding(compiled, capped, row, {}, evaluation.completeness)


def _acts(rule: Rule, evaluation: Evaluation, run: ExpectedRun) -> bool:
    """Whether the fuse controller would have acted: the policy matches, and the row's evidence is complete."""
    if rule.fuse is None or not evaluation.stops or evaluation.completeness < COMPLETE:
        return False
    if SEVERITIES.index(evaluation.severity or "info") > SEVERITIES.index(rule.fuse.severity):
        return False
    elapsed = run.run.row["elapsed_ms"] if evaluation.stage is None else run.elapsed_ms.get(evaluation.stage)
    return elapsed is not None and elapsed >= rule.fuse.after_ms
