//! The lines and rows that `simdb-cli clusters` writes.

use anyhow::Result;
use serde::Serialize;
use simdb::Cluster;

use crate::commands::found::parquet::FoundTable;
use crate::commands::found::{FoundFormat, Of, Sink};

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

/// Clusters on their way.
pub struct Rows<'l, 'w> {
    format: FoundFormat,
    sink: &'l mut Sink<'w>,
    /// Where they go if they are no lines: cluster, id and keeper.
    table: Option<FoundTable<3>>,
}

impl<'l, 'w> Rows<'l, 'w> {
    /// Rows that are handed to a sink, the header before the first.
    pub fn new(format: FoundFormat, of: Of<'_>, sink: &'l mut Sink<'w>) -> Result<Self> {
        if format == FoundFormat::Csv {
            sink.bytes(b"cluster,id,keeper,distance\n")?;
        }
        Ok(Self {
            format,
            sink,
            table: match format {
                FoundFormat::Parquet => {
                    let ids = ["cluster", "id", "keeper"];
                    Some(FoundTable::new("simdb.clusters", ids, of)?)
                }
                _ => None,
            },
        })
    }

    /// Where they go.
    pub fn sink(&self) -> &Sink<'w> {
        self.sink
    }

    /// Writes a cluster.
    pub fn cluster(&mut self, cluster: &Cluster) -> Result<()> {
        let (id, keeper) = (cluster.id.0, cluster.keeper.0);
        let mut members = cluster.members.iter();
        match self.format {
            FoundFormat::Jsonl => self.sink.json(&ClusterLine {
                cluster: id,
                keeper,
                size: cluster.members.len(),
                diameter: cluster.diameter,
                most_diameter: cluster.most_diameter,
                members: members
                    .map(|member| MemberLine {
                        id: member.id.0,
                        distance: member.distance,
                    })
                    .collect(),
            }),
            FoundFormat::Csv => members.try_for_each(|member| {
                let line = format!("{id},{},{keeper},{}\n", member.id, member.distance);
                self.sink.bytes(line.as_bytes())
            }),
            FoundFormat::Parquet => members.try_for_each(|member| match &mut self.table {
                Some(table) => table.push([id, member.id.0, keeper], member.distance, self.sink),
                None => Ok(()),
            }),
        }
    }

    /// Writes what is still held back.
    pub fn finish(self) -> Result<()> {
        if let Some(table) = self.table {
            table.finish(self.sink)?;
        }
        Ok(())
    }
}
