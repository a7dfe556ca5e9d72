internal import Glibc

/// An IP address. An IPv4-mapped IPv6 address, such as `::ffff:10.1.2.3`, is the same as the IPv4 address.
package struct IPAddress: Sendable, Hashable {
    /// The address in network order: four bytes, or sixteen for IPv6.
    package let bytes: [UInt8]

    /// The first twelve bytes of an IPv4-mapped IPv6 address. The IPv4 address follows.
    private static let mappedPrefix: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

    package init?(_ text: some StringProtocol) {
        let text = String(text)
        var ipv4 = in_addr()
        var ipv6 = in6_addr()
        if unsafe inet_pton(AF_INET, text, &ipv4) == 1 {
            bytes = unsafe withUnsafeBytes(of: &ipv4) { unsafe Array($0) }
        } else if unsafe inet_pton(AF_INET6, text, &ipv6) == 1 {
            let ipv6Bytes = unsafe withUnsafeBytes(of: &ipv6) { unsafe Array($0) }
            bytes = ipv6Bytes.starts(with: Self.mappedPrefix) ? Array(ipv6Bytes.suffix(4)) : ipv6Bytes
        } else {
            return nil
        }
    }

    /// The ranges that are not hosts of the internet: loopback, link-local, private, multicast and reserved ones, and
    /// those of carriers and clouds. The last three IPv6 ranges carry IPv4 addresses, which may be private.
    private static let privateRanges = [
        "0.0.0.0/8", "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16",
        "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
        "::", "::1", "fe80::/10", "fec0::/10", "fc00::/7", "ff00::/8", "64:ff9b::/32", "2002::/16",
        "2001::/32",
    ].compactMap { AddressRange($0) }

    /// Whether a host on the internet can have this address. A phone's request from another address came through a
    /// proxy or an internal network, which hides the phone's address.
    package var isPublic: Bool { !Self.privateRanges.contains { $0.contains(self) } }
}
