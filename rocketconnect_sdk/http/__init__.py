"""One client for systems that are asked over HTTP: what is wrong is told in our words, and everything has a limit."""

from rocketconnect_sdk.configuration.references import login_is_known
from rocketconnect_sdk.http.answers import Answer, NotLetIn, NotTrusted, RequestRejected
from rocketconnect_sdk.http.client import AnswerTooLong, HttpClient
from rocketconnect_sdk.http.login import Login, Tls
from rocketconnect_sdk.http.options import AUTH, REQUEST_TIMEOUT, TLS, login_of, login_problems, tls_of, urls_option
from rocketconnect_sdk.http.tokens import NoToken, Tokens

__all__ = [
    "AUTH",
    "REQUEST_TIMEOUT",
    "TLS",
    "Answer",
    "AnswerTooLong",
    "HttpClient",
    "Login",
    "NoToken",
    "NotLetIn",
    "NotTrusted",
    "RequestRejected",
    "Tls",
    "Tokens",
    "login_is_known",
    "login_of",
    "login_problems",
    "tls_of",
    "urls_option",
]
