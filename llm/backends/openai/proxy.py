"""The proxy of a network: HTTP_PROXY, HTTPS_PROXY and NO_PROXY, or the settings of the system (macOS, Windows)."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from yarl import URL

from parley.llm.errors import UserError


def proxy_of(url: str) -> URL | None:
    """Return the proxy through which an address is called; None without one, and for this machine itself.

    It is read once: aiohttp's `trust_env` reads it anew for every call, in a thread. Errors: UserError for another kind of proxy.
    """
    parts = urlsplit(url)
    host, proxy = parts.hostname or "", getproxies().get(parts.scheme, "")
    if not proxy or _is_this_machine(host) or proxy_bypass(host):
        return None
    address = URL(proxy if "://" in proxy else f"http://{proxy}")
    if address.scheme not in ("http", "https"):
        raise UserError(
            f"the proxy of {parts.scheme.upper()}_PROXY begins with {address.scheme}://, and only http:// proxies can be used: "
            f"change it, or exclude {host} with NO_PROXY"
        )
    return address


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
