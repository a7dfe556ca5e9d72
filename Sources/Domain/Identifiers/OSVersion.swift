/// A version of the phone's operating system: three numbers of one byte each, which is enough for all
/// decisions.
package struct OSVersion: Sendable, Hashable, Comparable {
    package let major: UInt8
    package let minor: UInt8
    package let patch: UInt8

    package init(_ major: UInt8, _ minor: UInt8, patch: UInt8 = 0) {
        self.major = major
        self.minor = minor
        self.patch = patch
    }

    /// The first version that can start a Live Activity by push.
    package static let pushToStart = OSVersion(17, 2)
    /// The first version in which an activity can listen to a channel.
    package static let broadcastChannels = OSVersion(18, 0)

    /// The major version that stands for a version that the phone did not report.
    @inlinable package static var unreportedMajor: UInt8 { 0 }

    /// Reads `17.2`, `iOS 17.2.1` and `18.0 (22A3354)`. Returns nil if the text contains no version. Numbers
    /// above 255 are read as 255.
    package init?(_ text: some StringProtocol) {
        var text = String(text)
        guard let version = text.withUTF8({ unsafe OSVersion(utf8: $0) }) else { return nil }
        self = version
    }

    /// Reads bytes in place, without a `String`.
    package init?(utf8 text: UnsafeBufferPointer<UInt8>) {
        var numbers: (UInt8, UInt8, UInt8) = (0, 0, 0)
        var count = 0
        var number: Int?
        func take(_ found: Int) {
            switch count {
            case 0: numbers.0 = UInt8(found)
            case 1: numbers.1 = UInt8(found)
            case 2: numbers.2 = UInt8(found)
            default: break
            }
            count += 1
        }
        for index in text.indices {
            let byte = unsafe text[index]
            if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
                number = min(255, (number ?? 0) * 10 + Int(byte - UInt8(ascii: "0")))
            } else if let known = number {
                take(known)
                number = nil
                // The version ends at the first character after a number that is not a dot.
                if byte != UInt8(ascii: ".") { break }
            }
        }
        if let number { take(number) }
        guard numbers.0 > 0 else { return nil }
        self.init(numbers.0, numbers.1, patch: numbers.2)
    }

    package static func < (a: OSVersion, b: OSVersion) -> Bool { a.number < b.number }

    private var number: Int { Int(major) << 16 | Int(minor) << 8 | Int(patch) }
}

extension OSVersion: CustomStringConvertible {
    package var description: String { patch == 0 ? "\(major).\(minor)" : "\(major).\(minor).\(patch)" }
}
