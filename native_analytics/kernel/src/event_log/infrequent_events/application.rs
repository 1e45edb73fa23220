//! Reads the events about the application: start, end, version, configuration.

use super::{VisitResult, Writer};
use crate::event_log::json::reader::Reader;
use crate::event_log::json::text;
use crate::event_log::tables::{Application, Property};

impl Writer<'_> {
    pub fn application_start(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let mut found = Application::default();
        reader.each_member_of_line(|value, key| {
            match key {
                b"App ID" => found.app_id = value.text_value()?,
                b"App Attempt ID" => found.attempt = value.scalar_value()?,
                b"App Name" => found.name = value.text_value()?,
                b"User" => found.user_name = value.text_value()?,
                b"Timestamp" => found.started_ms = value.number(self.odd)?,
                _ => {}
            }
            Ok(())
        })?;
        let started_before = self
            .tables
            .applications
            .last()
            .is_some_and(|last| last.started_ms.is_some());
        if started_before {
            self.tables.applications.push(found);
        } else {
            self.tables.application().merge(found);
        }
        Ok(())
    }

    pub fn application_end(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let mut ended_ms = None;
        reader.each_member_of_line(|value, key| {
            if key == b"Timestamp" {
                ended_ms = value.number(self.odd)?;
            }
            Ok(())
        })?;
        let ours = &mut self.tables.application().ended_ms;
        *ours = ended_ms.or(*ours);
        Ok(())
    }

    pub fn log_start(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let mut version = None;
        reader.each_member_of_line(|value, key| {
            if key == b"Spark Version" {
                version = value.text_value()?;
            }
            Ok(())
        })?;
        let ours = &mut self.tables.application().spark_version;
        *ours = version.or(ours.take());
        Ok(())
    }

    pub fn environment_update(&mut self, reader: &mut Reader<'_>) -> VisitResult {
        let mut found = Vec::new();
        reader.each_member_of_line(|value, key| {
            let section = match key {
                b"Spark Properties" => "Spark Properties",
                b"Hadoop Properties" => "Hadoop Properties",
                b"System Properties" => "System Properties",
                b"JVM Information" => "JVM Information",
                b"Metrics Properties" => "Metrics Properties",
                _ => return Ok(()),
            };
            value.each_member(|value, key| {
                if self.allowed.contains(key)
                    && let Some(value) = value.scalar_value()?
                {
                    let key = text::text(key);
                    found.push(Property { section, key, value });
                }
                Ok(())
            })
        })?;
        self.tables.bytes += found
            .iter()
            .map(|property| property.key.len() + property.value.len())
            .sum::<usize>();
        self.tables.environment.extend(found);
        Ok(())
    }
}
