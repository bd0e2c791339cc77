//! Connections without TLS: over loopback and Unix sockets.
//!
//! The listener there is not verified. So the password is proved by SCRAM alone, which tells the listener nothing of use: a
//! server that asks for the password itself, or for its MD5 hash, gets no answer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream that fails when the server asks for the password other than by SCRAM. `tokio-postgres` has no setting that refuses
/// ways to log in.
pub(super) struct Guarded<S> {
    stream: S,
    login: Login,
}

impl<S> Guarded<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, login: Login::default() }
    }
}

/// What the server has said until the login was complete.
#[derive(Default)]
struct Login {
    is_over: bool,
    /// The beginning of a message, up to the code of a request.
    head: Vec<u8>,
    /// Bytes of the message that are still to come.
    rest: usize,
}

impl Login {
    /// Looks at what the server says. Does no I/O.
    fn look_at(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut bytes = bytes.iter();
        while !self.is_over {
            if self.rest > 0 {
                let skipped = self.rest.min(bytes.len());
                self.rest = self.rest.saturating_sub(skipped);
                if skipped > 0 {
                    bytes.nth(skipped.saturating_sub(1));
                }
            }
            let Some(byte) = bytes.next() else { return Ok(()) };
            self.head.push(*byte);
            self.judge()?;
        }
        Ok(())
    }

    /// Judges the beginning of a message: its kind, its length without the kind, and for a request the code.
    fn judge(&mut self) -> io::Result<()> {
        let [kind, length @ ..] = self.head.as_slice() else { return Ok(()) };
        let Some((length, code)) = length.split_first_chunk::<4>() else { return Ok(()) };
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        let seen = match kind {
            b'R' => {
                let Ok(code) = <[u8; 4]>::try_from(code) else { return Ok(()) };
                match u32::from_be_bytes(code) {
                    OK => self.is_over = true,
                    SASL | SASL_CONTINUE | SASL_FINAL => {}
                    _ => return Err(io::Error::new(io::ErrorKind::PermissionDenied, ASKS)),
                }
                LENGTH.saturating_add(code.len())
            }
            _ => LENGTH,
        };
        self.rest = length.saturating_sub(seen);
        self.head.clear();
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let done = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if matches!(done, Poll::Ready(Ok(()))) && !self.login.is_over {
            self.login.look_at(buffer.filled().get(before..).unwrap_or_default())?;
        }
        done
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

const OK: u32 = 0;
const SASL: u32 = 10;
const SASL_CONTINUE: u32 = 11;
const SASL_FINAL: u32 = 12;
/// Bytes of the length of a message, which count as a part of it.
const LENGTH: usize = 4;
const ASKS: &str = "the server asks for the password in a form that others can use; without TLS only SCRAM is answered: set \
                    the role's password_encryption and the method in pg_hba.conf to scram-sha-256, or add sslmode=verify-full";

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::Duration;

    use crate::connection::Connection;
    use crate::{PostgresConfig, PostgresUrl};

    /// A server that asks for the password in a way of its own. Returns what the client answers.
    fn asks(stream: TcpStream, request: &[u8]) -> Vec<u8> {
        let mut stream = stream;
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut length = [0; 4];
        stream.read_exact(&mut length).unwrap();
        let rest = usize::try_from(u32::from_be_bytes(length)).unwrap() - 4;
        stream.read_exact(&mut vec![0; rest]).unwrap();
        // In pieces, as a network may deliver them. A client that has seen enough hangs up.
        for byte in request {
            let _ = stream.write_all(&[*byte]);
        }
        let mut answer = Vec::new();
        let mut piece = [0; 512];
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            answer.extend_from_slice(&piece[..count]);
            if answer.first() == Some(&b'p') {
                break;
            }
        }
        answer
    }

    fn request(code: u32, rest: &[u8]) -> Vec<u8> {
        let length = u32::try_from(8 + rest.len()).unwrap();
        [b"R", &length.to_be_bytes()[..], &code.to_be_bytes()[..], rest].concat()
    }

    fn answer_to(request: Vec<u8>) -> (Vec<u8>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || asks(listener.accept().unwrap().0, &request));
        let url = PostgresUrl::parse(&format!("postgres://app@127.0.0.1:{port}/m")).unwrap();
        let config = PostgresConfig::new(&url).password(PASSWORD);
        let opened = Connection::open(&config, None, std::sync::Arc::default());
        let error = format!("{:?}", opened.err().unwrap());
        (server.join().unwrap(), error)
    }

    #[test]
    fn a_listener_without_tls_gets_neither_the_password_nor_its_md5_hash() {
        for (name, request) in [
            ("in clear", request(3, b"")),
            ("as MD5", request(5, b"salt")),
            ("by GSS", request(7, b"")),
        ] {
            let (answer, error) = answer_to(request);
            assert!(answer.is_empty(), "{name}: {answer:?}");
            assert!(error.contains("only SCRAM is answered"), "{name}: {error}");
        }
        // It answers SCRAM, which does not contain the password.
        let (answer, _) = answer_to(request(10, b"SCRAM-SHA-256\0\0"));
        assert!(answer.starts_with(b"p"), "{answer:?}");
        assert!(!answer.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes()));
    }

    #[cfg(unix)]
    #[test]
    fn a_unix_socket_is_guarded_too() {
        use std::os::unix::net::UnixListener;
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut start = [0; 512];
            assert!(stream.read(&mut start).unwrap() > 8);
            stream.write_all(&request(3, b"")).unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            answer
        });
        let host = folder.path().display();
        let url = PostgresUrl::parse(&format!("postgres://app@/m?host={host}")).unwrap();
        let config = PostgresConfig::new(&url).password(PASSWORD);
        let opened = Connection::open(&config, None, std::sync::Arc::default());
        assert!(format!("{:?}", opened.err().unwrap()).contains("only SCRAM is answered"));
        assert_eq!(server.join().unwrap(), b"");
    }

    const PASSWORD: &str = "correct-horse";
}
