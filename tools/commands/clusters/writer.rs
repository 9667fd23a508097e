//! [`ClusterWriter`]: the results of `simdb-cli clusters`.

use anyhow::Result;
use serde::Serialize;
use simdb::Cluster;

use crate::commands::results::{ResultFormat, ResultSink, ResultTable, SearchSettings};

#[derive(Serialize)]
struct ClusterLine {
    cluster: u64,
    keeper: u64,
    size: usize,
    diameter: u32,
    most_diameter: u32,
    members: Vec<MemberLine>,
}

#[derive(Serialize)]
struct MemberLine {
    id: u64,
    distance: u32,
}

/// Writes clusters: a line of JSON for each, or a row of a table for each member.
pub struct ClusterWriter<'l, 'w> {
    sink: &'l mut ResultSink<'w>,
    table: Option<ResultTable>,
}

impl<'l, 'w> ClusterWriter<'l, 'w> {
    /// Writes the head of a table.
    pub fn new(
        format: ResultFormat,
        settings: SearchSettings<'_>,
        sink: &'l mut ResultSink<'w>,
    ) -> Result<Self> {
        let columns = ["cluster", "id", "keeper", "distance"];
        let table = ResultTable::new(format, "simdb.clusters", &columns, settings, sink)?;
        Ok(Self { sink, table })
    }

    /// The consumer of the results.
    pub fn sink(&self) -> &ResultSink<'w> {
        self.sink
    }

    /// Writes a cluster.
    pub fn push(&mut self, cluster: &Cluster) -> Result<()> {
        let (id, keeper) = (cluster.id.0, cluster.keeper.0);
        let Some(table) = &mut self.table else {
            let members = cluster.members.iter().map(|member| MemberLine {
                id: member.id.0,
                distance: member.distance,
            });
            return self.sink.json(&ClusterLine {
                cluster: id,
                keeper,
                size: cluster.members.len(),
                diameter: cluster.diameter,
                most_diameter: cluster.most_diameter,
                members: members.collect(),
            });
        };
        cluster.members.iter().try_for_each(|member| {
            let row = [id, member.id.0, keeper, member.distance.into()];
            table.push(&row, self.sink)
        })
    }

    /// Writes the end of a table.
    pub fn finish(self) -> Result<()> {
        match self.table {
            Some(table) => table.finish(self.sink),
            None => Ok(()),
        }
    }
}
