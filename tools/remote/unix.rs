//! A connection of the HTTP client to a Unix socket.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};

/// Connects to a socket, whatever the address of a request is.
#[derive(Debug)]
pub struct UnixConnector(pub PathBuf);

pub struct UnixTransport {
    stream: UnixStream,
    buffers: LazyBuffers,
}

impl fmt::Debug for UnixTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UnixTransport").field(&self.stream).finish()
    }
}

impl Connector for UnixConnector {
    type Out = UnixTransport;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> Result<Option<Self::Out>, Error> {
        let (input, output) = (
            details.config.input_buffer_size(),
            details.config.output_buffer_size(),
        );
        Ok(Some(UnixTransport {
            stream: UnixStream::connect(&self.0)?,
            buffers: LazyBuffers::new(input, output),
        }))
    }
}

/// The error of an operation; an operation that waited too long is a timeout.
fn failed(error: std::io::Error, timeout: NextTimeout) -> Error {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Error::Timeout(timeout.reason),
        _ => error.into(),
    }
}

impl Transport for UnixTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream
            .set_write_timeout(timeout.not_zero().map(|time| *time))?;
        let output = &self.buffers.output()[..amount];
        self.stream
            .write_all(output)
            .map_err(|error| failed(error, timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream
            .set_read_timeout(timeout.not_zero().map(|time| *time))?;
        let input = self.buffers.input_append_buf();
        let amount = loop {
            match self.stream.read(input) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read.map_err(|error| failed(error, timeout))?,
            }
        };
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        // A connection is used again only while it has nothing to read.
        let mut byte = [0];
        let is_silent = self.stream.set_nonblocking(true).is_ok()
            && matches!(self.stream.read(&mut byte), Err(error) if error.kind() == ErrorKind::WouldBlock);
        is_silent && self.stream.set_nonblocking(false).is_ok()
    }
}
