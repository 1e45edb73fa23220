//! Merges the tables of a later part of a log into those of the earlier parts.

use foldhash::HashMap;

use crate::event_log::tables::{Application, Executor, Job, SqlExecution, StageInfo, Tables};

impl Tables {
    /// Adds the tables of a later part of the log. Returns the number of detail rows and failures that the limits left
    /// out.
    pub fn append(&mut self, later: Tables, max_detail_bytes: usize) -> u64 {
        self.bytes += later.bytes;
        let mut left_out = 0;
        self.append_applications(later.applications);
        for job in later.jobs {
            self.job(job.job_id).merge(job);
        }
        for stage in later.stages {
            let ours = self.stage(stage.key);
            ours.started_tasks += stage.started_tasks;
            ours.aggregates.append(stage.aggregates);
            left_out += ours.failures.append(stage.failures);
            if let Some(theirs) = stage.info {
                match &mut ours.info {
                    Some(info) => info.merge(*theirs),
                    None => ours.info = Some(theirs),
                }
            }
        }
        for executor in later.executors {
            self.executor(executor.executor_id.clone()).merge(executor);
        }
        // Each part numbers its plan versions from 0, so the number of versions in the earlier parts is added.
        let mut before = HashMap::default();
        for execution in later.sql_executions {
            let ours = self.sql_execution(execution.id);
            before.insert(execution.id, ours.plan_versions);
            ours.merge(execution);
        }
        let mut nodes = later.plan_nodes;
        for node in &mut nodes {
            node.version += before.get(&node.execution).copied().unwrap_or(0);
        }
        self.streaming_progress.extend(later.streaming_progress);
        self.environment.extend(later.environment);
        let fits = self.detail_bytes + later.detail_bytes <= max_detail_bytes;
        if fits {
            self.detail_bytes += later.detail_bytes;
            self.accumulators.extend(later.accumulators);
            self.executor_metrics.extend(later.executor_metrics);
        } else {
            left_out += (later.accumulators.len() + later.executor_metrics.len()) as u64;
            let before = nodes.len();
            nodes.retain(|node| node.version == 0);
            left_out += (before - nodes.len()) as u64;
        }
        self.plan_nodes.extend(nodes);
        left_out
    }

    /// A part that begins in the middle of the log may have the end or the Spark version of an application without its
    /// start; these values belong to the last application.
    fn append_applications(&mut self, later: Vec<Application>) {
        for application in later {
            let goes_on = application.app_id.is_none() && application.started_ms.is_none();
            let waits = self
                .applications
                .last()
                .is_some_and(|ours| ours.app_id.is_none() && ours.started_ms.is_none());
            if (goes_on || waits) && !self.applications.is_empty() {
                self.application().merge(application);
            } else {
                self.applications.push(application);
            }
        }
    }
}

/// Fills empty fields with the values of the later row.
macro_rules! fill {
    ($ours:ident, $theirs:ident, $($field:ident),+) => { $($ours.$field = $ours.$field.take().or($theirs.$field);)+ };
}

/// Overwrites each field with the value of the later row, if that row has one.
macro_rules! renew {
    ($ours:ident, $theirs:ident, $($field:ident),+) => { $($ours.$field = $theirs.$field.or($ours.$field.take());)+ };
}

impl Application {
    pub fn merge(&mut self, later: Application) {
        fill!(self, later, app_id, attempt, name, user_name, spark_version, started_ms);
        renew!(self, later, ended_ms);
    }
}

impl Job {
    pub fn merge(&mut self, later: Job) {
        fill!(self, later, submitted_ms, description, job_group, sql_execution_id);
        renew!(self, later, completed_ms, result, failure_reason);
        if self.stage_ids.is_empty() {
            self.stage_ids = later.stage_ids;
        }
        if self.depths.is_empty() {
            self.depths = later.depths;
        }
    }
}

impl StageInfo {
    pub fn merge(&mut self, later: StageInfo) {
        fill!(
            self,
            later,
            name,
            call_site,
            job_description,
            job_group,
            sql_execution_id,
            resource_profile_id
        );
        renew!(
            self,
            later,
            num_tasks,
            submitted_ms,
            completed_ms,
            failure_reason,
            operator_rows_max
        );
        self.completed |= later.completed;
        if self.parents.is_empty() {
            self.parents = later.parents;
        }
        if self.scopes.is_empty() {
            self.scopes = later.scopes;
        }
    }
}

impl Executor {
    pub fn merge(&mut self, later: Executor) {
        fill!(self, later, host, cores, added_ms, storage_memory_bytes);
        renew!(self, later, removed_ms, removed_reason);
    }
}

impl SqlExecution {
    fn merge(&mut self, later: SqlExecution) {
        fill!(self, later, root_id, description, call_site, started_ms);
        renew!(self, later, ended_ms, reported_status, failure_reason);
        self.plan_versions += later.plan_versions;
    }
}
