internal import Glibc

/// Whom an address belongs to, for counting: an IPv4 address is one peer, and of an IPv6 address the
/// first half, because the second half is for the peer to choose anew as often as it likes.
enum PeerNetwork {
    static func of(_ address: String) -> String {
        var bytes = in6_addr()
        guard address.contains(":"), unsafe inet_pton(AF_INET6, address, &bytes) == 1 else { return address }
        let half = unsafe withUnsafeBytes(of: &bytes) { unsafe Array($0.prefix(8)) }
        return "v6:" + half.map { String($0, radix: 16) }.joined(separator: ".")
    }
}
