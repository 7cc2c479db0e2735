//! Clients that ask on connections that stay open, each as soon as it has its answer.

use std::net::SocketAddr;

use futures_util::future::try_join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::contest::Error;

use super::upstream::{Length, body_length, find};
use super::{Ask, host};

pub(super) struct Clients {
    runtime: Runtime,
    connections: Vec<Connection>,
    requests: Vec<Vec<u8>>,
    /// Which request is next.
    turn: usize,
}

pub(crate) struct Connection {
    address: SocketAddr,
    socket: TcpStream,
    bytes: Vec<u8>,
}

impl Clients {
    pub(super) fn connect(
        address: SocketAddr,
        count: usize,
        ask: &Ask,
        headers: &str,
    ) -> Result<Clients, Error> {
        let failed = |error: std::io::Error| Error::Failed(error.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let connections = runtime.block_on(try_join_all((0..count).map(|_| Connection::open(address))));
        let host = host(address);
        let request = |body: &String| {
            let length = body.len();
            format!(
                "POST {} HTTP/1.1\r\n{host}{headers}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}",
                ask.path
            )
            .into_bytes()
        };
        let requests = ask.bodies.iter().map(request).collect();
        Ok(Clients { runtime, connections: connections.map_err(failed)?, requests, turn: 0 })
    }

    /// Asks so often, over all connections, and gives the last answer of the first one.
    pub(super) fn ask(&mut self, count: u64) -> Result<String, Error> {
        let Clients { runtime, connections, requests, turn } = self;
        let open = connections.len() as u64;
        // What happened to connections meanwhile is heard of first.
        runtime.block_on(tokio::task::yield_now());
        let asking = connections.iter_mut().zip(0..).map(|(connection, index): (_, u64)| {
            let share = count / open + u64::from(index < count % open);
            let start = *turn + usize::try_from(index).unwrap_or(0);
            let requests = &*requests;
            async move {
                let mut answer = String::new();
                for round in 0..usize::try_from(share).unwrap_or(usize::MAX) {
                    let request = requests.get((start + round * 7) % requests.len().max(1));
                    answer = connection.ask(request.map_or(&[], Vec::as_slice)).await?;
                }
                Ok::<String, Error>(answer)
            }
        });
        let answers = runtime.block_on(try_join_all(asking))?;
        *turn += 1;
        Ok(answers.into_iter().next().unwrap_or_default())
    }
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> std::io::Result<Connection> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Connection { address, socket, bytes: Vec::with_capacity(16 * 1024) })
    }

    /// Whether the other side has closed the connection while nobody asked, as some do after a few seconds.
    fn is_closed(&self) -> bool {
        matches!(self.socket.try_read(&mut [0]), Ok(0))
    }

    pub(crate) async fn ask(&mut self, request: &[u8]) -> Result<String, Error> {
        let failed = |error: std::io::Error| Error::Failed(error.to_string());
        if self.is_closed() {
            *self = Connection::open(self.address).await.map_err(failed)?;
        }
        self.socket.write_all(request).await.map_err(failed)?;
        self.bytes.clear();
        let head = loop {
            if let Some(end) = find(&self.bytes, b"\r\n\r\n") {
                break end + 4;
            }
            self.more().await?;
        };
        let whole = match body_length(&self.bytes[..head]) {
            Length::Bytes(length) => head + length,
            Length::Chunked => loop {
                if let Some(end) = find(&self.bytes[head..], b"0\r\n\r\n") {
                    break head + end + 5;
                }
                self.more().await?;
            },
        };
        while self.bytes.len() < whole {
            self.more().await?;
        }
        if !self.bytes.starts_with(b"HTTP/1.1 2") {
            return Err(Error::Failed(String::from_utf8_lossy(&self.bytes).into_owned()));
        }
        Ok(String::from_utf8_lossy(&self.bytes[head..]).into_owned())
    }

    async fn more(&mut self) -> Result<(), Error> {
        match self.socket.read_buf(&mut self.bytes).await {
            Ok(1..) => Ok(()),
            Ok(0) => Err(Error::Failed("the connection was closed".to_owned())),
            Err(error) => Err(Error::Failed(error.to_string())),
        }
    }
}
