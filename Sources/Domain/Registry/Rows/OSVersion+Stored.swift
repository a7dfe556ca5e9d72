internal import Identifiers

// The version of a phone's system in a row: major, minor and patch, one byte each. An unknown version is
// three zeros.

extension OSVersion {
    static func append(_ version: OSVersion?, to value: inout [UInt8]) {
        value.append(version?.major ?? 0)
        value.append(version?.minor ?? 0)
        value.append(version?.patch ?? 0)
    }

    static func read(_ value: Span<UInt8>, at offset: Int) -> OSVersion? {
        value[offset] == 0 ? nil : OSVersion(value[offset], value[offset + 1], patch: value[offset + 2])
    }
}
