"""Servers for S3 and WebDAV in this process, which cause trouble on demand and remember what they were sent."""
import errno
import io
import threading
import urllib.parse

from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from cheroot import wsgi
from moto.server import DomainDispatcherApplication, create_backend_app
from wsgidav.wsgidav_app import WsgiDAVApp

KEY, SECRET, REGION = "AKIAEXAMPLE", "wJalrXUtnFEMI/K7MDENG", "eu-central-1"
NAME, PASSWORD = "me", "p:ss#w/rd"
started = []
CHANGES = {"PUT", "DELETE", "MKCOL", "MOVE"}


class Server:
    """Serves an application on a port of its own; `trouble` is None, `read-only`, `full`, `busy` or `gone`."""

    def __init__(self, application, is_allowed=lambda _: True):
        self.application, self.is_allowed = application, is_allowed
        self.trouble, self.sent, self.asked = None, [], 0
        self.http = wsgi.Server(("127.0.0.1", 0), self.reply, numthreads=4)
        self.http.prepare()
        self.port = self.http.bind_addr[1]
        threading.Thread(target=self.http.serve, daemon=True).start()
        started.append(self.http)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def reply(self, environ, start_response):
        method = environ["REQUEST_METHOD"]
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        self.sent.append(environ["PATH_INFO"].encode() + b"\n" + body)
        self.asked += 1
        status = None
        if not self.is_allowed(environ):
            status, body = "403 Forbidden", b"<Error><Code>SignatureDoesNotMatch</Code></Error>"
        elif self.trouble == "read-only" and method in CHANGES:
            status, body = "403 Forbidden", b""
        elif self.trouble == "full" and method == "PUT":
            status, body = "507 Insufficient Storage", b""
        elif self.trouble == "busy" and self.asked % 3 == 0:
            status, body = "503 Slow Down", b"<Error><Code>SlowDown</Code></Error>"
        elif self.trouble == "gone":
            return self.cut(start_response)
        if status:
            start_response(status, [("Content-Length", str(len(body)))])
            return [body]
        return self.application(environ, start_response)

    @staticmethod
    def cut(start_response):
        """Ends the connection within a reply."""
        start_response("200 OK", [("Content-Length", "1000")])
        yield b"cut"
        raise ConnectionResetError(errno.ECONNRESET, "cut")


def stop():
    """Stops all servers."""
    for http in started:
        http.stop()


def is_signed(environ):
    """Whether the address has the signature that the library of AWS computes for it."""
    query = urllib.parse.parse_qsl(environ["QUERY_STRING"], keep_blank_values=True)
    given = dict(query).get("X-Amz-Signature")
    rest = urllib.parse.urlencode([pair for pair in query if pair[0] != "X-Amz-Signature"], quote_via=urllib.parse.quote)
    url = f"http://{environ['HTTP_HOST']}{urllib.parse.quote(environ['PATH_INFO'])}?{rest}"
    request = AWSRequest(method=environ["REQUEST_METHOD"], url=url, headers={"host": environ["HTTP_HOST"]})
    request.context["timestamp"] = dict(query).get("X-Amz-Date", "")
    auth = S3SigV4QueryAuth(Credentials(KEY, SECRET), "s3", REGION)
    text = auth.string_to_sign(request, auth.canonical_request(request))
    return given == auth.signature(text, request)


def s3():
    return Server(DomainDispatcherApplication(create_backend_app), is_signed)


def webdav(folder):
    """Asks for a login on everything."""
    return Server(WsgiDAVApp({
        "provider_mapping": {"/": folder},
        "http_authenticator": {"accept_basic": True, "accept_digest": False, "default_to_digest": False},
        "simple_dc": {"user_mapping": {"*": {NAME: {"password": PASSWORD}}}},
        "property_manager": True,
        "lock_storage": True,
        "logging": {"enable": False},
        "verbose": 0,
    }))
