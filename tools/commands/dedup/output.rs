//! A new file, compressed or not by its name, that appears when it is whole.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::write::GzEncoder;
use tempfile::TempPath;

use crate::console::files::{persist_new, temporary_beside};
use crate::formats::input::Compression;

/// A file in the making, under a temporary name beside its own.
pub struct NewFile {
    path: PathBuf,
    encoder: Encoder,
    temporary: TempPath,
}

/// A file that is whole and durable, and still without its name.
pub struct WholeFile {
    path: PathBuf,
    temporary: TempPath,
}

enum Encoder {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd(Box<zstd::stream::write::Encoder<'static, BufWriter<File>>>),
}

impl NewFile {
    /// Starts a file. One that is there already is refused.
    pub fn create(path: &Path) -> Result<Self> {
        let cannot = || format!("cannot write {}", path.display());
        if path.symlink_metadata().is_ok() {
            bail!(
                "{} already exists; remove it, or choose another name",
                path.display()
            );
        }
        let (file, temporary) = temporary_beside(path).with_context(cannot)?.into_parts();
        let file = BufWriter::with_capacity(1 << 16, file);
        let encoder = match Compression::of(path) {
            Compression::None => Encoder::Plain(file),
            Compression::Gzip => Encoder::Gzip(GzEncoder::new(file, Default::default())),
            Compression::Zstd => {
                let level = zstd::DEFAULT_COMPRESSION_LEVEL;
                let encoder = zstd::stream::write::Encoder::new(file, level);
                Encoder::Zstd(Box::new(encoder.with_context(cannot)?))
            }
        };
        Ok(Self {
            path: path.to_owned(),
            encoder,
            temporary,
        })
    }

    /// Writes some of it.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match &mut self.encoder {
            Encoder::Plain(file) => file.write_all(bytes),
            Encoder::Gzip(encoder) => encoder.write_all(bytes),
            Encoder::Zstd(encoder) => encoder.write_all(bytes),
        };
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Writes what is still buffered and makes the file durable.
    pub fn finish(self) -> Result<WholeFile> {
        let Self {
            path,
            encoder,
            temporary,
        } = self;
        finish(encoder).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(WholeFile { path, temporary })
    }
}

fn finish(encoder: Encoder) -> io::Result<()> {
    let mut file = match encoder {
        Encoder::Plain(file) => file,
        Encoder::Gzip(encoder) => encoder.finish()?,
        Encoder::Zstd(encoder) => encoder.finish()?,
    };
    file.flush()?;
    file.get_ref().sync_all()
}

impl WholeFile {
    /// Gives it its name.
    pub fn persist(self) -> Result<()> {
        persist_new(self.temporary, &self.path)
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}
