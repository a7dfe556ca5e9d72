internal import Glibc

/// The network that an address is counted by. An IPv4 address counts by itself. An IPv6 address counts by its
/// first half, because its owner can change the second half at will.
enum PeerNetwork {
    static func network(of address: String) -> String {
        var bytes = in6_addr()
        guard address.contains(":"), unsafe inet_pton(AF_INET6, address, &bytes) == 1 else { return address }
        let half = unsafe withUnsafeBytes(of: &bytes) { unsafe Array($0.prefix(8)) }
        return "v6:" + half.map { String($0, radix: 16) }.joined(separator: ".")
    }
}
