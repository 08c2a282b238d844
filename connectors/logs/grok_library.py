"""The named patterns of grok, under the names that Logstash, Telegraf and others have for them. Pure.

They are written anew. What ends in one way only gives nothing back (`++`, `(?>...)`), so that a text that does not match is left
in linear time: only DATA, GREEDYDATA, NOTSPACE and what is made of them are tried in several ways.
"""

from collections.abc import Mapping

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_HEX = r"[0-9A-Fa-f]"
_GROUP = rf"{_HEX}{{1,4}}"

PATTERNS: Mapping[str, str] = {
    # Words and texts.
    "USERNAME": r"[\w.-]++",
    "USER": r"%{USERNAME}",
    "EMAILLOCALPART": r"[\w!#$%&'*+/=?^`{|}~-]++(?:\.[\w!#$%&'*+/=?^`{|}~-]++)*+",
    "EMAILADDRESS": r"%{EMAILLOCALPART}@%{HOSTNAME}",
    "WORD": r"\b\w++\b",
    "NOTSPACE": r"\S+",
    "SPACE": r"\s*",
    "DATA": r".*?",
    "GREEDYDATA": r".*",
    "QUOTEDSTRING": r"(?>\"(?:\\.|[^\\\"])*+\"|'(?:\\.|[^\\'])*+'|`(?:\\.|[^\\`])*+`)",
    "QS": r"%{QUOTEDSTRING}",
    "UUID": rf"{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}",
    "URN": r"urn:[0-9A-Za-z][0-9A-Za-z-]{0,31}:[\w%()+,.:=@;$!*'/?#-]++",
    # Numbers.
    "INT": r"[+-]?\d++",
    "BASE10NUM": r"(?<![\d.+-])(?>[+-]?(?:\d++(?:\.\d*+)?+|\.\d++))",
    "NUMBER": r"%{BASE10NUM}",
    "BASE16NUM": rf"(?<!{_HEX})(?>[+-]?(?:0x)?{_HEX}++)",
    "BASE16FLOAT": rf"\b(?<![0-9A-Fa-f.])(?>[+-]?(?:0x)?(?:{_HEX}++(?:\.{_HEX}*+)?+|\.{_HEX}++))\b",
    "POSINT": r"\b[1-9]\d*+\b",
    "NONNEGINT": r"\b\d++\b",
    # Hosts.
    "CISCOMAC": rf"(?:{_HEX}{{4}}\.){{2}}{_HEX}{{4}}",
    "WINDOWSMAC": rf"(?:{_HEX}{{2}}-){{5}}{_HEX}{{2}}",
    "COMMONMAC": rf"(?:{_HEX}{{2}}:){{5}}{_HEX}{{2}}",
    "MAC": r"(?>%{CISCOMAC}|%{WINDOWSMAC}|%{COMMONMAC})",
    "IPV4": rf"(?<![\d.])(?>(?:{_OCTET}\.){{3}}{_OCTET})(?!\d)",
    "IPV6": rf"(?<![0-9A-Fa-f:])(?>(?:{_GROUP}:){{1,6}}(?:{_OCTET}\.){{3}}{_OCTET}|::(?:[Ff]{{4}}:)?(?:{_OCTET}\.){{3}}{_OCTET}"
    rf"|(?:{_GROUP}:){{7}}{_GROUP}|(?:{_GROUP}:){{1,7}}(?::{_GROUP}){{1,6}}|(?:{_GROUP}:){{1,7}}:|:(?::{_GROUP}){{1,7}}|::)"
    r"(?:%[0-9A-Za-z]++)?(?![0-9A-Fa-f:])",
    "IP": r"(?:%{IPV6}|%{IPV4})",
    "HOSTNAME": r"\b(?>[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62})(?:\.[0-9A-Za-z_](?:[0-9A-Za-z_-]{0,62}))*+)\.?",
    "HOST": r"%{HOSTNAME}",
    "IPORHOST": r"(?:%{IP}|%{HOSTNAME})",
    "HOSTPORT": r"%{IPORHOST}:%{POSINT}",
    # Paths and addresses.
    "UNIXPATH": r"(?:/[\w%!$@:.,+~-]*+)++",
    "TTY": r"/dev/(?:pts|tty[a-z]?)(?:/?\d++)?",
    "WINPATH": r"(?:[A-Za-z]++:|\\)(?:\\[^\\?*\s]*+)++",
    "PATH": r"(?:%{UNIXPATH}|%{WINPATH})",
    "URIPROTO": r"[A-Za-z](?:[A-Za-z0-9+.-]++)?+",
    "URIHOST": r"%{IPORHOST}(?::%{POSINT})?",
    "URIPATH": r"(?:/[\w$.+!*'(){},~:;=@#%&|-]*+)++",
    "URIQUERY": r"[\w$.+!*'|(){},~@#%&/=:;?\-\[\]<>]*+",
    "URIPARAM": r"\?%{URIQUERY}",
    "URIPATHPARAM": r"%{URIPATH}(?:%{URIPARAM})?",
    "URI": r"%{URIPROTO}://(?:%{USER}(?::[^@\s]*+)?@)?(?:%{URIHOST})?(?:%{URIPATHPARAM})?",
    # Times.
    "MONTH": r"\b(?>[Jj]an(?:uary)?|[Ff]eb(?:ruary)?|[Mm]ar(?:ch)?|[Aa]pr(?:il)?|[Mm]ay|[Jj]une?|[Jj]uly?|[Aa]ug(?:ust)?"
    r"|[Ss]ep(?:t(?:ember)?)?|[Oo]ct(?:ober)?|[Nn]ov(?:ember)?|[Dd]ec(?:ember)?)\b",
    "MONTHNUM": r"(?:0?[1-9]|1[0-2])",
    "MONTHNUM2": r"(?:0[1-9]|1[0-2])",
    "MONTHDAY": r"(?:0[1-9]|[12]\d|3[01]|[1-9])",
    "DAY": r"(?>Mon(?:day)?|Tue(?:sday)?|Wed(?:nesday)?|Thu(?:rsday)?|Fri(?:day)?|Sat(?:urday)?|Sun(?:day)?)",
    "YEAR": r"(?>\d\d){1,2}",
    "HOUR": r"(?:2[0-3]|[01]?\d)",
    "MINUTE": r"[0-5]\d",
    "SECOND": r"(?:[0-5]?\d|60)(?:[:.,]\d++)?+",
    "TIME": r"(?<!\d)%{HOUR}:%{MINUTE}(?::%{SECOND})?(?!\d)",
    "DATE_US": r"%{MONTHNUM}[/-]%{MONTHDAY}[/-]%{YEAR}",
    "DATE_EU": r"%{MONTHDAY}[./-]%{MONTHNUM}[./-]%{YEAR}",
    "ISO8601_TIMEZONE": r"(?:Z|[+-]%{HOUR}:?%{MINUTE})",
    "ISO8601_SECOND": r"%{SECOND}",
    "TIMESTAMP_ISO8601": r"%{YEAR}-%{MONTHNUM}-%{MONTHDAY}[T ]%{HOUR}:?%{MINUTE}(?::?%{SECOND})?(?:%{ISO8601_TIMEZONE})?",
    "DATE": r"(?:%{DATE_US}|%{DATE_EU})",
    "DATESTAMP": r"%{DATE}[- ]%{TIME}",
    "TZ": r"[A-Z]{3,4}",
    "DATESTAMP_RFC822": r"%{DAY} %{MONTH} %{MONTHDAY} %{YEAR} %{TIME} %{TZ}",
    "DATESTAMP_RFC2822": r"%{DAY}, %{MONTHDAY} %{MONTH} %{YEAR} %{TIME} %{ISO8601_TIMEZONE}",
    "DATESTAMP_OTHER": r"%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{TZ} %{YEAR}",
    "DATESTAMP_EVENTLOG": r"%{YEAR}%{MONTHNUM2}%{MONTHDAY}%{HOUR}%{MINUTE}%{SECOND}",
    "HTTPDATE": r"%{MONTHDAY}/%{MONTH}/%{YEAR}:%{TIME} %{INT}",
    "SYSLOGTIMESTAMP": r"%{MONTH} ++%{MONTHDAY} %{TIME}",
    # Logs.
    "LOGLEVEL": r"\b(?>(?i:trace|debug|notice|info(?:rmation)?|warn(?:ing)?|err(?:or)?|crit(?:ical)?|fatal|severe|alert"
    r"|emerg(?:ency)?))\b",
    "PROG": r"[\x21-\x5a\x5c\x5e-\x7e]+",
    "SYSLOGPROG": r"%{PROG:program}(?:\[%{POSINT:pid}\])?",
    "SYSLOGHOST": r"%{IPORHOST}",
    "SYSLOGFACILITY": r"<%{NONNEGINT:facility}\.%{NONNEGINT:priority}>",
    "SYSLOGBASE": r"%{SYSLOGTIMESTAMP:timestamp} (?:%{SYSLOGFACILITY} )?%{SYSLOGHOST:logsource} %{SYSLOGPROG}:",
    "SYSLOGLINE": r"%{SYSLOGBASE} %{GREEDYDATA:message}",
    "HTTPDUSER": r"(?:%{EMAILADDRESS}|%{USER})",
    "COMMONAPACHELOG": r"%{IPORHOST:clientip} %{HTTPDUSER:ident} %{HTTPDUSER:auth} \[%{HTTPDATE:timestamp}\] "
    r'"(?:%{WORD:verb} %{NOTSPACE:request}(?: HTTP/%{NUMBER:httpversion})?|%{DATA:rawrequest})" %{NUMBER:response} '
    r"(?:%{NUMBER:bytes}|-)",
    "COMBINEDAPACHELOG": r"%{COMMONAPACHELOG} %{QS:referrer} %{QS:agent}",
    "HTTPD20_ERRORLOG": r"\[%{DATA:timestamp}\] \[%{LOGLEVEL:loglevel}\] "
    r"(?:\[client %{IPORHOST:clientip}\] )?%{GREEDYDATA:message}",
    "JAVACLASS": r"(?:[A-Za-z$_][\w$]*+\.)*+[A-Za-z$_][\w$]*+",
    "JAVAFILE": r"[\w$. -]++",
    "JAVAMETHOD": r"(?:<(?:cl)?init>|[A-Za-z$_][\w$]*+)",
    "JAVASTACKTRACEPART": r"\s++at %{JAVACLASS:class}\.%{JAVAMETHOD:method}\(%{JAVAFILE:file}(?::%{INT:line})?\)",
}
