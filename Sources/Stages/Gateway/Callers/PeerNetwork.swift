internal import Glibc

/// The network by which the requests of an address are counted. An IPv4 address counts by itself. An IPv6 address
/// counts by its first half, because its owner can choose the second half freely: `2001:db8:1:2::7` counts as
/// `v6:20.1.d.b8.0.1.0.2`, its first eight bytes.
enum PeerNetwork {
    private static let ipv6NetworkByteCount = 8

    static func network(of address: String) -> String {
        var ipv6 = in6_addr()
        guard address.contains(":"), unsafe inet_pton(AF_INET6, address, &ipv6) == 1 else { return address }
        let networkBytes = unsafe withUnsafeBytes(of: &ipv6) {
            unsafe Array($0.prefix(ipv6NetworkByteCount))
        }
        return "v6:" + networkBytes.map { String($0, radix: 16) }.joined(separator: ".")
    }
}
