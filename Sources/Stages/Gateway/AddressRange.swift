internal import Glibc
internal import Settings

/// The bytes of an IP address. An IPv4-mapped IPv6 address is treated as the IPv4 address.
package struct IPAddress: Sendable, Hashable {
    package let bytes: [UInt8]

    private static let mappedPrefix: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

    package init?(_ text: some StringProtocol) {
        let text = String(text)
        var ipv4 = in_addr()
        var ipv6 = in6_addr()
        if unsafe inet_pton(AF_INET, text, &ipv4) == 1 {
            bytes = unsafe withUnsafeBytes(of: &ipv4) { unsafe Array($0) }
        } else if unsafe inet_pton(AF_INET6, text, &ipv6) == 1 {
            let all = unsafe withUnsafeBytes(of: &ipv6) { unsafe Array($0) }
            bytes = all.starts(with: Self.mappedPrefix) ? Array(all.suffix(4)) : all
        } else {
            return nil
        }
    }
}

/// One address or a network: `10.1.2.3`, `10.0.0.0/8`, `2001:db8::/32`.
package struct AddressRange: Sendable, Hashable {
    package let text: String
    private let address: IPAddress
    private let bits: Int

    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(first) else { return nil }
        var bits = 8 * address.bytes.count
        if parts.count == 2 {
            guard let named = Int(parts[1]), (0...bits).contains(named) else { return nil }
            bits = named
        }
        (self.text, self.address, self.bits) = (text, address, bits)
    }

    package func contains(_ other: IPAddress) -> Bool {
        guard other.bytes.count == address.bytes.count else { return false }
        let whole = bits / 8
        guard address.bytes.prefix(whole) == other.bytes.prefix(whole) else { return false }
        guard bits % 8 > 0 else { return true }
        let mask = UInt8(truncatingIfNeeded: 0xFF00 >> (bits % 8))
        return address.bytes[whole] & mask == other.bytes[whole] & mask
    }
}

extension AddressRange: SettingValue {
    package static var typeDescription: String { "an address or a network, such as 10.1.2.3 or 10.0.0.0/8" }
    package init?(settingText: String) { self.init(settingText) }
    package var settingText: String { text }
}
