/// A version of the phone's system, as far as decisions go: three numbers of one byte each.
package struct OSVersion: Sendable, Hashable, Comparable {
    package let major: UInt8
    package let minor: UInt8
    package let patch: UInt8

    package init(_ major: UInt8, _ minor: UInt8, _ patch: UInt8 = 0) {
        self.major = major
        self.minor = minor
        self.patch = patch
    }

    /// The first from which a Live Activity can be started by push.
    package static let pushToStart = OSVersion(17, 2)
    /// The first from which an activity can listen to a channel.
    package static let channels = OSVersion(18, 0)

    /// Takes `17.2`, `iOS 17.2.1` and `18.0 (22A3354)`; nil where no version can be read. Numbers beyond
    /// 255 count as 255.
    package init?(_ text: some StringProtocol) {
        var numbers: [UInt8] = []
        var number: Int?
        for byte in text.utf8 {
            if (0x30...0x39).contains(byte) {
                number = min(255, (number ?? 0) * 10 + Int(byte - 0x30))
            } else if let known = number {
                numbers.append(UInt8(known))
                number = nil
                if byte != UInt8(ascii: ".") { break }
            }
        }
        if let number { numbers.append(UInt8(number)) }
        guard let major = numbers.first, major > 0 else { return nil }
        self.init(major, numbers.count > 1 ? numbers[1] : 0, numbers.count > 2 ? numbers[2] : 0)
    }

    package static func < (a: OSVersion, b: OSVersion) -> Bool { a.number < b.number }

    private var number: Int { Int(major) << 16 | Int(minor) << 8 | Int(patch) }
}

extension OSVersion: CustomStringConvertible {
    package var description: String { patch == 0 ? "\(major).\(minor)" : "\(major).\(minor).\(patch)" }
}
