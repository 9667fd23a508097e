//! Inputs: files and standard input, compressed or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail};

use super::line_too_long;

/// The bytes of an input that are read at a time.
pub const BUFFER_BYTES: usize = 1 << 18;

/// The name of standard input on the command line.
const STDIN_ARGUMENT: &str = "-";

/// The byte order mark that some editors write before UTF-8.
pub const BOM: char = '\u{feff}';

/// An input that exists and is not open yet.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    /// `None` for standard input.
    path: Option<PathBuf>,
    /// `None` if the size is unknown, as of a pipe.
    size_bytes: Option<u64>,
}

impl Source {
    /// The input of a command-line argument: a file, or `-` for standard input.
    pub fn new(argument: &Path) -> Result<Self> {
        if argument == Path::new(STDIN_ARGUMENT) {
            return Ok(Self::stdin());
        }
        let name = argument.display().to_string();
        let metadata =
            std::fs::metadata(argument).with_context(|| format!("cannot read {name}"))?;
        if metadata.is_dir() {
            bail!("cannot read {name}: it is a directory; name the files in it");
        }
        Ok(Self {
            name,
            path: Some(argument.to_owned()),
            size_bytes: metadata.is_file().then_some(metadata.len()),
        })
    }

    /// Standard input.
    pub fn stdin() -> Self {
        Self {
            name: "<stdin>".to_owned(),
            path: None,
            size_bytes: None,
        }
    }

    /// The copy of this input at `path`, under the name of the input.
    pub fn copied_to(&self, path: &Path) -> Result<Self> {
        let name = self.name.clone();
        let metadata = std::fs::metadata(path).with_context(|| format!("cannot read {name}"))?;
        Ok(Self {
            name,
            path: Some(path.to_owned()),
            size_bytes: Some(metadata.len()),
        })
    }

    /// The name in messages and reports.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path; `None` for standard input.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The size before decompression, in bytes; `None` if unknown.
    pub fn size_bytes(&self) -> Option<u64> {
        self.size_bytes
    }

    /// Opens the input. Its bytes before decompression are added to `bytes_read` as they are read.
    pub fn open(&self, bytes_read: &Arc<AtomicU64>) -> Result<InputStream> {
        let name = self.name.clone();
        let (plain, compression): (Box<dyn Read + Send>, _) = match &self.path {
            None => (Box::new(io::stdin()), Compression::None),
            Some(path) => {
                let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
                (Box::new(file), Compression::of(path))
            }
        };
        let mut counted = BufReader::with_capacity(
            BUFFER_BYTES,
            CountedBytes {
                input: plain,
                bytes_read: Arc::clone(bytes_read),
            },
        );
        let start = counted.fill_buf();
        let start = start.with_context(|| format!("cannot read {name}"))?;
        if let Some((compressed_by, extension)) = compression.is_missing_from(start) {
            bail!(
                "cannot read {name}: it is not compressed by {compressed_by}, although its name ends in \
                 {extension}; rename it"
            );
        }
        let reader: Box<dyn BufRead + Send> = match compression {
            Compression::None => Box::new(counted),
            Compression::Gzip => Box::new(BufReader::with_capacity(
                BUFFER_BYTES,
                GzipMembers::new(counted),
            )),
            Compression::Zstd => Box::new(BufReader::with_capacity(
                BUFFER_BYTES,
                ZstdFrames(
                    zstd::stream::read::Decoder::with_buffer(counted)
                        .with_context(|| format!("cannot read {name}"))?,
                ),
            )),
        };
        Ok(InputStream { name, reader })
    }
}

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    None,
    /// `.gz`
    Gzip,
    /// `.zst`
    Zstd,
}

impl Compression {
    /// The names of this compression and its extension, if a file does not begin like one of this
    /// compression. An empty file, or one that is cut after some bytes, is reported when it is
    /// read.
    fn is_missing_from(self, start: &[u8]) -> Option<(&'static str, &'static str)> {
        match (self, start) {
            (Self::Gzip, [first, second, ..]) if [*first, *second] != GZIP_MAGIC => {
                Some(("gzip", ".gz"))
            }
            // Frames of data, and frames to skip.
            (Self::Zstd, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]) => {
                None
            }
            (Self::Zstd, [_, _, _, _, ..]) => Some(("zstd", ".zst")),
            _ => None,
        }
    }

    /// The compression of a file, by its extension. Not by its first bytes, because a raw file may
    /// begin with any bytes.
    pub fn of(path: &Path) -> Self {
        match lowercase_extension(path).as_deref() {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            _ => Self::None,
        }
    }
}

/// The first bytes of each gzip member.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The first bytes of files that are no text in UTF-8, and what to do with such a file.
const FOREIGN: [(&[u8], &str); 9] = [
    (
        b"\xff\xfe",
        "it is in UTF-16; convert it with `iconv -f UTF-16 -t UTF-8`",
    ),
    (
        b"\xfe\xff",
        "it is in UTF-16; convert it with `iconv -f UTF-16 -t UTF-8`",
    ),
    (
        b"\x1f\x8b",
        "it is compressed by gzip; give it a name that ends in .gz, or unpack it with `gzip -dc`",
    ),
    (
        b"\x28\xb5\x2f\xfd",
        "it is compressed by zstd; give it a name that ends in .zst, or unpack it with `zstd -dc`",
    ),
    (
        b"BZh",
        "it is compressed by bzip2; unpack it with `bzip2 -dc`",
    ),
    (
        b"\xfd7zXZ\0",
        "it is compressed by xz; unpack it with `xz -dc`",
    ),
    (b"PK\x03\x04", "it is a ZIP archive; unpack it with `unzip`"),
    (
        b"PAR1",
        "it is a Parquet file; give its path, not a pipe, and --format parquet",
    ),
    (
        b"SQLite format 3\0",
        "it is an SQLite database; export its rows as CSV or JSON Lines",
    ),
];

/// Decompresses the members of a gzip file, which has several if logs are appended to it. Zeros
/// behind a member are padding, as on tapes and in blocks of a fixed size.
struct GzipMembers<R> {
    /// `None` behind the last member.
    member: Option<flate2::bufread::GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    fn new(input: R) -> Self {
        Self {
            member: Some(flate2::bufread::GzDecoder::new(input)),
        }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let bytes = member.read(buffer).map_err(name_cut)?;
            if bytes > 0 || buffer.is_empty() {
                return Ok(bytes);
            }
            let Some(member) = self.member.take() else {
                break;
            };
            let mut input = member.into_inner();
            if skip_zeros(&mut input)? {
                // One byte, because a read may return no more.
                if input.fill_buf()?.first() != Some(&GZIP_MAGIC[0]) {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "bytes that are not compressed by gzip follow the last member; if they are no part \
                         of the data, `gzip -dc` unpacks the file without them",
                    ));
                }
                self.member = Some(flate2::bufread::GzDecoder::new(input));
            }
        }
        Ok(0)
    }
}

/// Decompresses zstd.
struct ZstdFrames<R: BufRead>(zstd::stream::read::Decoder<'static, R>);

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| {
            // zstd has no code for its errors here.
            if !error.to_string().contains("too much memory") {
                return name_cut(error);
            }
            let advice = "its zstd window is larger than 128 MiB, because it was compressed by zstd --long; \
                          unpack it first with `zstd -d --long=31`";
            io::Error::new(io::ErrorKind::InvalidData, advice)
        })
    }
}

/// Names the cause if compressed data end too early.
fn name_cut(error: io::Error) -> io::Error {
    match error.kind() {
        kind @ io::ErrorKind::UnexpectedEof => {
            io::Error::new(kind, "the compressed data are cut off; get the whole file")
        }
        _ => error,
    }
}

/// Skips zeros. Returns `false` at the end of the input.
fn skip_zeros(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let ready = input.fill_buf()?;
        if ready.is_empty() {
            return Ok(false);
        }
        let zeros = ready.iter().take_while(|byte| **byte == 0).count();
        let is_all = zeros == ready.len();
        input.consume(zeros);
        if !is_all {
            return Ok(true);
        }
    }
}

/// The extension of a file name before `.gz` or `.zst`, in lower case.
pub fn extension_of(path: &Path) -> Option<String> {
    match Compression::of(path) {
        Compression::None => lowercase_extension(path),
        _ => lowercase_extension(&path.with_extension("")),
    }
}

fn lowercase_extension(path: &Path) -> Option<String> {
    let extension = path.extension()?.to_str()?;
    Some(extension.to_ascii_lowercase())
}

/// An open input, decompressed.
pub struct InputStream {
    /// The name in messages.
    pub name: String,
    pub reader: Box<dyn BufRead + Send>,
}

impl InputStream {
    /// Skips a byte order mark at the start of a text. Refuses an input whose first bytes are those
    /// of another kind of file.
    pub fn begin_text(&mut self) -> Result<()> {
        let start = self.reader.fill_buf();
        let start = start.with_context(|| format!("cannot read {}", self.name))?;
        if let Some((_, found)) = FOREIGN.iter().find(|(bytes, _)| start.starts_with(bytes)) {
            bail!("cannot read {}: {found}", self.name);
        }
        self.skip_bom()
    }

    /// Skips a byte order mark at the start.
    pub fn skip_bom(&mut self) -> Result<()> {
        let cannot = || format!("cannot read {}", self.name);
        let mut bom = [0; 4];
        let bom = BOM.encode_utf8(&mut bom).as_bytes();
        let start = self.reader.fill_buf().with_context(cannot)?;
        if start.starts_with(bom) {
            self.reader.consume(bom.len());
        } else if bom.starts_with(start) {
            // The first read of a pipe, or of a short gzip member, may return a part of the mark.
            let mut start = Vec::new();
            let most = bom.len() as u64;
            let head = Read::take(&mut self.reader, most).read_to_end(&mut start);
            head.with_context(cannot)?;
            if start != bom {
                let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
                self.reader = Box::new(io::Cursor::new(start).chain(rest));
            }
        }
        Ok(())
    }

    /// Bytes in memory as an input, for tests.
    #[cfg(test)]
    pub fn of_bytes(name: &str, bytes: &[u8]) -> Self {
        Self {
            name: name.to_owned(),
            reader: Box::new(io::Cursor::new(bytes.to_vec())),
        }
    }
}

/// The number of a line, and the line without its end or the reason why the line is not read.
pub type NumberedLine<'l> = (u64, Result<&'l [u8], String>);

/// A reader of lines of bounded length, numbered from 1.
pub struct LineReader {
    input: InputStream,
    /// The last line without its end; of a line that is too long, its beginning.
    line: Vec<u8>,
    number: u64,
    limit_bytes: usize,
}

impl LineReader {
    /// Reads lines of at most `limit_bytes`.
    pub fn new(mut input: InputStream, limit_bytes: usize) -> Result<Self> {
        input.begin_text()?;
        Ok(Self {
            input,
            line: Vec::new(),
            number: 0,
            limit_bytes,
        })
    }

    /// The next line; `None` at the end. The last line may lack its line feed.
    pub fn next_line(&mut self) -> Result<Option<NumberedLine<'_>>> {
        Ok(self.advance()?.then(|| (self.number, self.line())))
    }

    /// The next line that is not only white space.
    pub fn next_not_blank(&mut self) -> Result<Option<NumberedLine<'_>>> {
        while self.advance()? {
            if self.line().is_err() || !self.line.trim_ascii().is_empty() {
                return Ok(Some((self.number, self.line())));
            }
        }
        Ok(None)
    }

    fn line(&self) -> Result<&[u8], String> {
        if self.line.len() > self.limit_bytes {
            return Err(line_too_long(self.limit_bytes));
        }
        Ok(&self.line)
    }

    /// Reads one line. Returns `false` at the end of the input.
    fn advance(&mut self) -> Result<bool> {
        let is_there = self.read_line().with_context(|| {
            let Self { input, number, .. } = &*self;
            format!("cannot read {} beyond line {number}", input.name)
        })?;
        self.number += u64::from(is_there);
        Ok(is_there)
    }

    /// Reads one line without its end. A line that exceeds the limit is cut to a length that
    /// exceeds the limit too, and its rest is skipped. Returns `false` at the end of the input.
    fn read_line(&mut self) -> io::Result<bool> {
        let line = &mut self.line;
        line.clear();
        // One long line must not hold its memory for the rest of the input.
        line.shrink_to(BUFFER_BYTES);
        let reader = &mut self.input.reader;
        // The end of a line has at most two bytes.
        let most = self.limit_bytes as u64 + 2;
        if reader.by_ref().take(most).read_until(b'\n', line)? == 0 {
            return Ok(false);
        }
        if line.pop_if(|last| *last == b'\n').is_some() {
            line.pop_if(|last| *last == b'\r');
        } else if line.len() > self.limit_bytes {
            reader.skip_until(b'\n')?;
        }
        Ok(true)
    }
}

/// Counts the bytes that are read, for the progress bar, and retries interrupted reads.
struct CountedBytes {
    input: Box<dyn Read + Send>,
    bytes_read: Arc<AtomicU64>,
}

impl Read for CountedBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = loop {
            match self.input.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome?,
            }
        };
        self.bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8], limit_bytes: usize) -> Vec<String> {
        let mut reader =
            LineReader::new(InputStream::of_bytes("test", bytes), limit_bytes).unwrap();
        let mut lines = Vec::new();
        while let Some((number, line)) = reader.next_line().unwrap() {
            lines.push(match line {
                Ok(bytes) => format!("{number}:{}", String::from_utf8_lossy(bytes)),
                Err(_) => format!("{number}!"),
            });
        }
        lines
    }

    #[test]
    fn line_ends_at_line_feed_or_end_of_input() {
        assert_eq!(lines(b"a\nb\r\n\nlast", 10), ["1:a", "2:b", "3:", "4:last"]);
        assert!(lines(b"", 10).is_empty());
    }

    #[test]
    fn byte_order_mark_is_skipped() {
        assert_eq!(lines("\u{feff}a\nb".as_bytes(), 10), ["1:a", "2:b"]);
    }

    #[test]
    fn byte_order_mark_read_in_parts_is_skipped() {
        for (start, expected) in [
            ("\u{feff}", ""),
            ("\u{feff}a", "a"),
            ("\u{feff}\u{feff}a", "\u{feff}a"),
            ("\u{fefe}a", "\u{fefe}a"),
            ("\u{e000}", "\u{e000}"),
            ("", ""),
        ] {
            for cut in 0..=start.len() {
                let (first, second) = start.as_bytes().split_at(cut);
                let mut input = InputStream {
                    name: "test".to_owned(),
                    reader: Box::new(first.chain(second)),
                };
                input.skip_bom().unwrap();
                let mut rest = String::new();
                input.reader.read_to_string(&mut rest).unwrap();
                assert_eq!(rest, expected, "{start:?} {cut}");
            }
        }
    }

    #[test]
    fn line_beyond_limit_is_skipped_and_counted() {
        assert_eq!(
            lines(b"abc\nabcd\nabcdefghijkl\r\nab\nabcdefg", 3),
            ["1:abc", "2!", "3!", "4:ab", "5!"]
        );
        assert_eq!(lines(b"abc\r\nabcd\r\nx", 3), ["1:abc", "2!", "3:x"]);
    }

    #[test]
    fn all_gzip_members_are_read_and_cut_member_is_an_error() {
        use std::io::Write;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("two.txt.gz");
        let mut bytes = Vec::new();
        for text in ["one\n", "two\n"] {
            let mut member = flate2::write::GzEncoder::new(&mut bytes, Default::default());
            member.write_all(text.as_bytes()).unwrap();
            member.finish().unwrap();
        }
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let opened = Source::new(&path)?.open(&Arc::default())?;
            let mut reader = LineReader::new(opened, 100)?;
            let mut count = 0;
            while reader.next_line()?.is_some() {
                count += 1;
            }
            anyhow::Ok(count)
        };
        assert_eq!(read(&bytes).unwrap(), 2);
        for cut in [bytes.len() - 3, bytes.len() - 12, bytes.len() - 20] {
            let error = format!("{:#}", read(&bytes[..cut]).unwrap_err());
            assert!(error.contains("two.txt.gz beyond line"), "{error}");
            assert!(error.contains("data are cut off"), "{error}");
        }
    }
}
