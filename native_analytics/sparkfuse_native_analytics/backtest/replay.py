"""Replays rules over the store's history, job by job: what each would have paged and stopped, and what is unknown."""

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

# Runs whose rows are asked about at once.
RUNS_AT_ONCE = 200


@dataclass
class JobResult:
    """What a rule says of the runs of one job; counts of runs, but ``stages``: stage attempts on which it held.

    ``judged`` runs had a row with all that the rule needs. ``critical``, ``warning`` and ``info`` count a run by the
    worst that it would have been told; ``silenced`` ones had only symptoms of what another rule told.
    ``stopped`` counts runs that the fuse controller would have been asked to act on, None for a rule without one.
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
        """Runs in which the rule would have said something."""
        return self.critical + self.warning + self.info

    @property
    def per_100_runs(self) -> float | None:
        """Of 100 runs that could be judged, how many would have been told of; None when none could."""
        return round(100 * self.matched / self.judged, 2) if self.judged else None


@dataclass
class RuleResult:
    """One rule over all jobs. ``not_decidable`` says why history cannot answer it, None where it can."""

    rule: str
    view: str
    action: str | None
    not_decidable: str | None
    jobs: list[JobResult] = field(default_factory=list)

    def total(self) -> JobResult:
        """All jobs together."""
        whole = JobResult("", stopped=None if self.action is None else 0)
        for name in ("runs", "judged", "critical", "warning", "info", "silenced", "stages"):
            setattr(whole, name, sum(getattr(job, name) for job in self.jobs))
        if whole.stopped is not None:
            whole.stopped = sum(job.stopped or 0 for job in self.jobs)
        return whole


@dataclass
class Backtest:
    """The answer: runs that started within the time (ms since the epoch), their jobs, and the rules by their ids."""

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
    """Ask the rules about every ended run that started from ``since_ms`` up to ``until_ms``.

    A run is judged by what was known when it started: older runs, also those before ``since_ms``, teach. All rules are
    asked, because one may silence another; ``only`` chooses which are told. Raises StoreEmptyError, StoreOlderError.
    """
    known = list(rules)
    wanted = [rule for rule in known if not only or rule.id in only]
    results = {rule.id: RuleResult(rule.id, rule.view, _action(rule), _why_not(rule)) for rule in wanted}
    decided = [rule for rule in known if _why_not(rule) is None]
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
    found = [_with_lack(results[rule.id], rule) for rule in wanted]
    return Backtest(since_ms, until_ms, judged, jobs, found)


def _action(rule: Rule) -> str | None:
    return rule.fuse.action if rule.fuse else None


def _why_not(rule: Rule) -> str | None:
    if rule.view not in VIEWS_IN_HISTORY:
        return f"needs the view {rule.view}, which history does not contain"
    if lacking := undecidable_columns(rule, "history"):
        return f"needs columns that exist only while a job runs: {', '.join(lacking)}"
    return None


def _with_lack(result: RuleResult, rule: Rule) -> RuleResult:
    """The result; a rule whose evidence no run of the time had is not decided, which is not fine."""
    if result.not_decidable is None and result.jobs and not any(job.judged for job in result.jobs):
        result.not_decidable = f"no row has all that it needs: {', '.join(needed_columns(rule))}"
    return result


def _of_job(
    client: Client, rules: Sequence[Rule], job_key: str, runs: Sequence[Run], since_ms: int
) -> Iterator[tuple[str, JobResult]]:
    here = {rule.id: mine for rule in rules if (mine := rule.for_job(job_key)) is not None}
    results = {name: JobResult(job_key, stopped=0 if rule.fuse else None) for name, rule in here.items()}
    asked = list(expected_runs(runs, stages_of(client, runs), since_ms))
    for first in range(0, len(asked), RUNS_AT_ONCE):
        some = asked[first : first + RUNS_AT_ONCE]
        by_run: dict[Place, list[Evaluation]] = {each.run.place: [] for each in some}
        for evaluation in evaluate_rules(client, list(here.values()), some):
            by_run[evaluation.place].append(evaluation)
        for each in some:
            _count(results, here, each, by_run[each.run.place])
    yield from results.items()


def _count(
    results: Mapping[str, JobResult], rules: Mapping[str, Rule], run: ExpectedRun, said: Sequence[Evaluation]
) -> None:
    judged = {evaluation.rule for evaluation in said}
    worst, symptoms = _told(rules, [evaluation for evaluation in said if evaluation.severity is not None])
    for name, result in results.items():
        result.runs += 1
        result.judged += name in judged
        if severity := worst.get(name):
            setattr(result, severity, getattr(result, severity) + 1)
        elif name in symptoms:
            result.silenced += 1
        of_rule = [evaluation for evaluation in said if evaluation.rule == name and evaluation.severity is not None]
        result.stages += sum(evaluation.stage is not None for evaluation in of_rule)
        if result.stopped is not None:
            result.stopped += any(_acts(rules[name], evaluation, run) for evaluation in of_rule)


def _told(rules: Mapping[str, Rule], held: Sequence[Evaluation]) -> tuple[Mapping[str, str], set[str]]:
    """The worst severity that each rule would have told, and the rules that were symptoms at least once."""
    findings = sorted((_finding(rules[each.rule], each) for each in held), key=_rank)
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
    asked = CompiledRule(rule.id, rule.view, rule.summary, rule.description, rule.runbook, "", (), (), rule.inhibits)
    row = {} if evaluation.stage is None else {"stage_id": evaluation.stage[0]}
    return Finding(asked, capped, row, {}, evaluation.completeness)


def _acts(rule: Rule, evaluation: Evaluation, run: ExpectedRun) -> bool:
    """Whether the fuse controller would have been asked: needs hold, time has come, evidence is complete."""
    if rule.fuse is None or not evaluation.stops or evaluation.completeness < COMPLETE:
        return False
    elapsed = run.run.row["elapsed_ms"] if evaluation.stage is None else run.elapsed_ms.get(evaluation.stage)
    return elapsed is not None and elapsed >= rule.fuse.after_ms
