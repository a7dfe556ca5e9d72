internal import LiveActivity

// The form of a version in a row: three bytes, zeros if it is unknown.

extension OSVersion {
    static let storedBytes = 3

    static func append(_ version: OSVersion?, to value: inout [UInt8]) {
        value.append(version?.major ?? 0)
        value.append(version?.minor ?? 0)
        value.append(version?.patch ?? 0)
    }

    static func read(_ value: Span<UInt8>, at offset: Int) -> OSVersion? {
        value[offset] == 0 ? nil : OSVersion(value[offset], value[offset + 1], patch: value[offset + 2])
    }
}
