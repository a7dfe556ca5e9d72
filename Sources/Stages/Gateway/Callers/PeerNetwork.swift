internal import Glibc

/// The network by which an address is counted. An IPv4 address counts by itself. An IPv6 address counts by its first
/// half, because its owner can choose the second half freely: `2001:db8:1:2::7` counts as `v6:20.1.d.b8.0.1.0.2`.
enum PeerNetwork {
    static func network(of address: String) -> String {
        var ipv6 = in6_addr()
        guard address.contains(":"), unsafe inet_pton(AF_INET6, address, &ipv6) == 1 else { return address }
        let firstHalf = unsafe withUnsafeBytes(of: &ipv6) { unsafe Array($0.prefix(8)) }
        return "v6:" + firstHalf.map { String($0, radix: 16) }.joined(separator: ".")
    }
}
