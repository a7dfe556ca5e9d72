/// A version of iOS, small enough for a million phones.
package struct OSVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let major: UInt8
    package let minor: UInt8

    package init(_ major: UInt8, _ minor: UInt8) {
        self.major = major
        self.minor = minor
    }

    /// `17.2`, or `18`; nil for what is none.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        guard (1...2).contains(parts.count), let major = parts[0], let minor = parts.count == 2 ? parts[1] : 0
        else { return nil }
        self.init(major, minor)
    }

    /// From here on a push can start an activity.
    package static let pushToStart = OSVersion(17, 2)
    /// From here on an activity can listen to a channel.
    package static let channels = OSVersion(18, 0)

    package static func < (a: OSVersion, b: OSVersion) -> Bool { (a.major, a.minor) < (b.major, b.minor) }

    package var description: String { "\(major).\(minor)" }
}
