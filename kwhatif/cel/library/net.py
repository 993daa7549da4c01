"""`kubernetes.net.ip` and `kubernetes.net.cidr` (`k8s.io/apiserver/pkg/cel/library/ip.go`, `cidr.go`)."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_interface

from kwhatif.cel.library.function import Function, accepts
from kwhatif.cel.library.netip import address_refusal, prefix_refusal, quote
from kwhatif.cel.values import Address


def parse_ip(text: str) -> Address:
    """`ip(text)`."""
    if refusal := address_refusal(text):
        raise ValueError(f"IP Address {quote(text)} parse error during conversion from string: {refusal}")
    address = ip_address(text)
    if isinstance(address, IPv6Address) and address.scope_id:
        raise ValueError(f'IP address "{text}" with zone value is not allowed')
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        raise ValueError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return ip_interface(address)


def is_canonical(text: str) -> bool:
    """`ip.isCanonical(text)`."""
    return str(parse_ip(text).ip) == text


def parse_cidr(text: str) -> Address:
    """`cidr(text)`; bits after the prefix are kept."""
    problem = "network address parse error during conversion from string: "
    if refusal := prefix_refusal(text):
        raise ValueError(f"{problem * 2}{refusal}")
    parsed = ip_interface(text)
    if isinstance(parsed.ip, IPv6Address) and parsed.ip.ipv4_mapped:
        raise ValueError(f'{problem}IPv4-mapped IPv6 address "{text}" is not allowed')
    return parsed


def contains_ip(network: Address, address: Address) -> bool:
    """`cidr.containsIP(ip)`."""
    return address.ip in network.network


def contains_cidr(network: Address, other: Address) -> bool:
    """`cidr.containsCIDR(cidr)`."""
    return network.version == other.version and other.network.subnet_of(network.network)  # type: ignore[arg-type]


def masked(network: Address) -> Address:
    """`cidr.masked()`."""
    return ip_interface(str(network.network))


def is_link_local_multicast(address: Address) -> bool:
    """`ip.isLinkLocalMulticast()`."""
    return address.ip in ip_interface("224.0.0.0/24" if address.version == 4 else "ff02::/16").network


def is_global_unicast(address: Address) -> bool:
    """`ip.isGlobalUnicast()`."""
    ip = address.ip
    special = ip.is_unspecified or ip.is_loopback or ip.is_multicast or ip.is_link_local
    return not special and str(ip) != "255.255.255.255"


_IP, _CIDR = "net.IP", "net.CIDR"
FUNCTIONS = (
    Function("ip", ("string",), _IP, parse_ip),
    Function("isIP", ("string",), "bool", accepts(parse_ip)),
    Function("ip.isCanonical", ("string",), "bool", is_canonical),
    Function("@string.ip", (_IP,), "string", lambda address: str(address.ip)),
    Function("family", (_IP,), "int", lambda address: address.version, member=True),
    Function("isUnspecified", (_IP,), "bool", lambda address: address.ip.is_unspecified, member=True),
    Function("isLoopback", (_IP,), "bool", lambda address: address.ip.is_loopback, member=True),
    Function("isLinkLocalMulticast", (_IP,), "bool", is_link_local_multicast, member=True),
    Function("isLinkLocalUnicast", (_IP,), "bool", lambda address: address.ip.is_link_local, member=True),
    Function("isGlobalUnicast", (_IP,), "bool", is_global_unicast, member=True),
    Function("cidr", ("string",), _CIDR, parse_cidr),
    Function("isCIDR", ("string",), "bool", accepts(parse_cidr)),
    Function("@string.cidr", (_CIDR,), "string", str),
    Function("ip", (_CIDR,), _IP, lambda network: network, member=True),
    Function("masked", (_CIDR,), _CIDR, masked, member=True),
    Function("prefixLength", (_CIDR,), "int", lambda network: network.network.prefixlen, member=True),
    Function("containsIP", (_CIDR, "string"), "bool", lambda net, ip: contains_ip(net, parse_ip(ip)), member=True),
    Function("containsIP", (_CIDR, _IP), "bool", contains_ip, member=True),
    Function("containsCIDR", (_CIDR, "string"), "bool", lambda a, b: contains_cidr(a, parse_cidr(b)), member=True),
    Function("containsCIDR", (_CIDR, _CIDR), "bool", contains_cidr, member=True),
)
