/// One IP address or a network: `10.1.2.3`, `10.0.0.0/8`, `2001:db8::/32`.
package struct AddressRange: Sendable, Hashable {
    package let text: String
    private let address: IPAddress
    /// The bits at the front of the address that all addresses of the range share.
    private let prefixBits: Int

    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(first) else { return nil }
        var prefixBits = 8 * address.bytes.count
        if parts.count == 2 {
            guard let givenBits = Int(parts[1]), (0...prefixBits).contains(givenBits) else { return nil }
            prefixBits = givenBits
        }
        (self.text, self.address, self.prefixBits) = (text, address, prefixBits)
    }

    /// Whether an address lies in the range. An IPv4 range has no IPv6 address, and the other way round.
    package func contains(_ other: IPAddress) -> Bool {
        guard other.bytes.count == address.bytes.count else { return false }
        let (fullBytes, remainingBits) = (prefixBits / 8, prefixBits % 8)
        guard address.bytes.prefix(fullBytes) == other.bytes.prefix(fullBytes) else { return false }
        guard remainingBits > 0 else { return true }
        // The remaining bits are the highest ones of the next byte.
        let mask = UInt8(truncatingIfNeeded: 0xFF00 >> remainingBits)
        return address.bytes[fullBytes] & mask == other.bytes[fullBytes] & mask
    }
}

extension AddressRange: SettingValue {
    package static var typeDescription: String { "an address or a network, such as 10.1.2.3 or 10.0.0.0/8" }
    package init?(settingText: String) { self.init(settingText) }
    package var settingText: String { text }
}
