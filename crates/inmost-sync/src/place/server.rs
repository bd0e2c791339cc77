//! HTTP for places on servers: time limits, bounded repetition, and errors that name the place and the cause.

use std::io::{self, ErrorKind};
use std::thread;
use std::time::Duration;

use ureq::Agent;
use ureq::http::Request;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use url::{Host, Url};

/// A server that has a place. It keeps its connections.
pub(super) struct Server {
    agent: Agent,
    /// The place, for errors. It has no credentials.
    location: String,
}

/// What the server replied to a request.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Server {
    /// The server at this URL. Trusts the certificate authorities of this machine, or those of Mozilla if it has none.
    pub(super) fn new(location: &str, url: &str) -> Self {
        let found = rustls_native_certs::load_native_certs().certs;
        let roots = found.iter().map(|found| Certificate::from_der(found).to_owned());
        let roots = if found.is_empty() { RootCerts::WebPki } else { roots.into() };
        let config = Agent::config_builder()
            .allow_non_standard_methods(true)
            .http_status_as_error(false)
            // Another address gets no credentials unasked.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(MOST_TIME))
            .timeout_connect(Some(CONNECT_TIME))
            .timeout_per_read(Some(SILENCE))
            .timeout_per_write(Some(SILENCE))
            .timeout_recv_response(Some(SILENCE))
            .tls_config(TlsConfig::builder().root_certs(roots).build());
        // A proxy of the environment would get what http sends to this machine alone, a password among it.
        let is_here = Url::parse(url).is_ok_and(|url| is_here(&url));
        let config = if is_here { config.proxy(None) } else { config };
        Self { agent: config.build().new_agent(), location: location.to_owned() }
    }

    /// Sends a request once. A reply longer than `most` bytes is `FileTooLarge`.
    pub(super) fn send(&self, request: Request<&[u8]>, most: usize) -> io::Result<Reply> {
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        let mut reply = self.agent.run(request).map_err(|error| self.failed(error))?;
        let body = reply.body_mut().with_config().limit(most).read_to_vec();
        let reply = Reply {
            status: reply.status().as_u16(),
            body: body.map_err(|error| self.failed(error))?,
        };
        // They are repeated.
        let is_busy = matches!(reply.status, 408 | 423 | 429 | 500 | 502..=504);
        if is_busy { Err(self.refused(&reply)) } else { Ok(reply) }
    }

    /// The reply, if it is a success.
    pub(super) fn success(&self, reply: Reply) -> io::Result<Reply> {
        if (200..300).contains(&reply.status) { Ok(reply) } else { Err(self.refused(&reply)) }
    }

    /// The object of a reply; `None` if it is gone, or longer than any object.
    pub(super) fn object(&self, sent: io::Result<Reply>) -> io::Result<Option<Vec<u8>>> {
        match sent {
            Ok(reply) if reply.status == 404 => Ok(None),
            Err(error) if error.kind() == ErrorKind::FileTooLarge => Ok(None),
            sent => Ok(Some(self.success(sent?)?.body)),
        }
    }

    /// The outcome of a removal. What is not there need not be removed.
    pub(super) fn removed(&self, reply: Reply) -> io::Result<()> {
        if reply.status == 404 { Ok(()) } else { self.success(reply).map(drop) }
    }

    /// The error for a reply that is not a success.
    fn refused(&self, reply: &Reply) -> io::Error {
        let (kind, cause) = match reply.status {
            300..=399 => (ErrorKind::InvalidInput, "the server has it at another address"),
            401 | 403 => (ErrorKind::PermissionDenied, "the server refused access"),
            404 | 409 | 410 => (ErrorKind::NotFound, "the server has no such folder or bucket"),
            405 | 501 => (ErrorKind::Unsupported, "the server does not support this"),
            413 | 507 => (ErrorKind::StorageFull, "the server has no room"),
            408 | 423 | 429 | 500.. => (ErrorKind::ResourceBusy, "the server is not able to reply"),
            _ => (ErrorKind::Other, "the server refused the request"),
        };
        self.error(kind, &format!("{cause} (HTTP {}{})", reply.status, code(&reply.body)))
    }

    /// An error that names the place.
    pub(super) fn error(&self, kind: ErrorKind, cause: &str) -> io::Error {
        io::Error::new(kind, format!("{}: {cause}", self.location))
    }

    fn failed(&self, error: ureq::Error) -> io::Error {
        match error {
            ureq::Error::Timeout(_) => self.error(ErrorKind::TimedOut, "the server does not reply"),
            ureq::Error::HostNotFound => {
                self.error(ErrorKind::HostUnreachable, "the name of the server is not known")
            }
            ureq::Error::BodyExceedsLimit(_) => {
                self.error(ErrorKind::FileTooLarge, "the server sent too much")
            }
            ureq::Error::Io(error) => self.error(error.kind(), &error.to_string()),
            ureq::Error::Rustls(error) => {
                self.error(ErrorKind::InvalidData, &format!("no TLS connection: {error}"))
            }
            // It ended the connection within a reply, or does not speak HTTP. The error may have the address with its signature.
            _ => self.error(ErrorKind::ConnectionAborted, "the connection to the server failed"),
        }
    }
}

/// Whether a URL is that of a server on this machine.
pub(super) fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Repeats what has failed because the server was busy or a connection broke.
pub(super) fn repeat<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for pause in PAUSES {
        match attempt() {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::ResourceBusy
                        | ErrorKind::ConnectionReset
                        | ErrorKind::ConnectionAborted
                        | ErrorKind::BrokenPipe
                        | ErrorKind::UnexpectedEof
                ) =>
            {
                thread::sleep(pause);
            }
            done => return done,
        }
    }
    attempt()
}

/// The `Code` of an error of S3, after a space. The body is the server's, so only a word is taken.
fn code(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let found = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
    let is_word = |code: &&str| code.len() <= 64 && code.bytes().all(|b| b.is_ascii_alphanumeric());
    found.map(|(code, _)| code).filter(is_word).map_or_else(String::new, |code| format!(" {code}"))
}

/// The pauses between attempts.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(250), Duration::from_secs(1), Duration::from_secs(4)];
/// How long a server may take to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How long a server may send or take nothing.
const SILENCE: Duration = Duration::from_secs(60);
/// How long a whole request may take: 512 MiB at 2 Mbit/s and more.
const MOST_TIME: Duration = Duration::from_secs(3_600);

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// A server that sends these replies, one a connection, and how often it was asked.
    fn serve(replies: &'static [&'static str]) -> (String, thread::JoinHandle<usize>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let served = thread::spawn(move || {
            for reply in replies {
                let (mut stream, _) = listener.accept().unwrap();
                let mut asked = Vec::new();
                while !asked.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).unwrap();
                    asked.extend(byte);
                }
                stream.write_all(format!("HTTP/1.1 {reply}").as_bytes()).unwrap();
            }
            replies.len()
        });
        (url, served)
    }

    fn get(url: &str, most: usize) -> io::Result<Reply> {
        let server = Server::new("s3://bucket", "http://127.0.0.1/");
        repeat(|| server.send(Request::builder().uri(url).body(&[][..]).unwrap(), most))
    }

    #[test]
    fn a_busy_server_and_a_broken_connection_are_asked_again() {
        let (url, served) = serve(&[
            "503 Slow Down\r\nContent-Length: 0\r\n\r\n",
            "200 OK\r\nContent-Length: 9\r\n\r\ncut",
            "200 OK\r\nContent-Length: 4\r\n\r\ndone",
        ]);
        assert_eq!(get(&url, 100).unwrap().body, b"done");
        assert_eq!(served.join().unwrap(), 3);
    }

    #[test]
    fn an_error_names_the_place_and_the_cause_and_no_more() {
        let (url, _) = serve(&[
            "403 No\r\nContent-Length: 41\r\n\r\n<Error><Code>RequestTimeTooSkewed</Code>..",
            "507 No\r\nContent-Length: 23\r\n\r\n<Code>\x1b[31m</Code>.....",
            "302 No\r\nLocation: http://elsewhere.example/\r\nContent-Length: 0\r\n\r\n",
        ]);
        let server = Server::new("s3://bucket", "http://127.0.0.1/");
        let refused = [
            (
                ErrorKind::PermissionDenied,
                "s3://bucket: the server refused access (HTTP 403 RequestTimeTooSkewed)",
            ),
            (ErrorKind::StorageFull, "s3://bucket: the server has no room (HTTP 507)"),
            (
                ErrorKind::InvalidInput,
                "s3://bucket: the server has it at another address (HTTP 302)",
            ),
        ];
        for (kind, text) in refused {
            let error = server.refused(&get(&url, 100).unwrap());
            assert_eq!((error.kind(), &*error.to_string()), (kind, text));
        }
    }

    #[test]
    fn no_more_is_read_than_is_wanted() {
        let (url, _) = serve(&["200 OK\r\nContent-Length: 1000000000\r\n\r\nabcdefgh"]);
        assert_eq!(get(&url, 4).err().unwrap().kind(), ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_server_that_is_not_there_is_an_error_at_once() {
        let (url, served) = serve(&[]);
        served.join().unwrap();
        assert_eq!(get(&url, 4).err().unwrap().kind(), ErrorKind::ConnectionRefused);
        let error = get(&url.replace("http", "https"), 4).err().unwrap();
        assert!(error.to_string().starts_with("s3://bucket: "), "{error}");
    }
}
