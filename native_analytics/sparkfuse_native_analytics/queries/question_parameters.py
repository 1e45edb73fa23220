"""The parameters of the questions, with their limits and descriptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, with_config

from sparkfuse_native_analytics.queries import cursor

Text = Annotated[str, Field(max_length=300)]
Id = Annotated[str, Field(min_length=1, max_length=300)]
Days = Annotated[int, Field(ge=1, le=400, description="Only what happened in the last days; 1 to 400.")]
Limit = Annotated[int, Field(ge=1, le=200, description="Maximum number of rows of each list; 1 to 200.")]
Cursor = Annotated[
    str, Field(max_length=cursor.MAX_LENGTH, description="next_cursor of the previous page; empty for the first page.")
]
AppId = Annotated[Id, Field(description="Spark's application id; the latest attempt answers.")]

_strict = with_config(ConfigDict(extra="forbid"))


@_strict
@dataclass(frozen=True)
class RunsWanted:
    """Filters of runs; an empty text does not restrict them."""

    status: Annotated[Literal["", "running", "succeeded", "failed"], Field(description="Status of the run.")] = ""
    job: Annotated[Text, Field(description="A part of the job key.")] = ""
    team: Annotated[Text, Field(description="Team that owns the job.")] = ""
    user: Annotated[Text, Field(description="User who started the application.")] = ""
    cluster: Annotated[Text, Field(description="Cluster of the application.")] = ""
    text: Annotated[Text, Field(description="A part of the application's name or id.")] = ""
    days: Days = 7
    limit: Limit = 50
    cursor: Cursor = ""


@_strict
@dataclass(frozen=True)
class CostsWanted:
    """The period and the grouping of costs; an empty team does not restrict them."""

    by: Annotated[Literal["team", "job"], Field(description="One row for each team or for each job.")] = "team"
    team: Annotated[Text, Field(description="Only jobs of this team.")] = ""
    days: Days = 30
    limit: Limit = 50


@_strict
@dataclass(frozen=True)
class FindingsWanted:
    """Filters of findings; an empty text does not restrict them."""

    state: Annotated[Literal["", "firing", "resolved"], Field(description="State of the finding.")] = ""
    severity: Annotated[Literal["", "critical", "warning", "info"], Field(description="Severity.")] = ""
    team: Annotated[Text, Field(description="Team that owns the job.")] = ""
    job: Annotated[Text, Field(description="A part of the job key.")] = ""
    app_id: Annotated[Text, Field(description="Only findings that list a run of this application.")] = ""
    host: Annotated[Text, Field(description="Only findings that name this host.")] = ""
    limit: Limit = 50
    cursor: Cursor = ""


@_strict
@dataclass(frozen=True)
class RunWanted:
    """One run."""

    app_id: AppId
    limit: Limit = 50


@_strict
@dataclass(frozen=True)
class CostWanted:
    """The run whose cost is wanted."""

    app_id: AppId


@_strict
@dataclass(frozen=True)
class PartsWanted:
    """A page of the stages or queries of a run."""

    app_id: AppId
    limit: Limit = 50
    cursor: Cursor = ""


@_strict
@dataclass(frozen=True)
class FindingWanted:
    """One finding."""

    finding_id: Annotated[Id, Field(description="Id of the finding.")]


@_strict
@dataclass(frozen=True)
class JobWanted:
    """One job."""

    job_key: Annotated[Id, Field(description="Job key, as the list of runs shows it.")]
    limit: Limit = 50


@_strict
@dataclass(frozen=True)
class AdviceWanted:
    """The job for which advice is wanted."""

    job_key: Annotated[Id, Field(description="Job key, as the list of runs shows it.")]


@_strict
@dataclass(frozen=True)
class ComparisonWanted:
    """Two runs, usually of one job."""

    before: Annotated[Id, Field(description="Application id of the first run.")]
    after: Annotated[Id, Field(description="Application id of the second run.")]


@_strict
@dataclass(frozen=True)
class FuseWanted:
    """Steps of the fuse."""

    app_id: Annotated[Text, Field(description="Only steps about this application.")] = ""
    days: Days = 1
    limit: Limit = 50


@_strict
@dataclass(frozen=True)
class CoverageWanted:
    """The period of the coverage."""

    days: Days = 7


@_strict
@dataclass(frozen=True)
class SearchWanted:
    """The text to search."""

    text: Annotated[
        Id, Field(description="Id or part of the name of an application, part of a job key, host, id of a finding.")
    ]
    limit: Limit = 20
