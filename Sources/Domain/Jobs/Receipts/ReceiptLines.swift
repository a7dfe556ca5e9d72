internal import Identifiers

/// The header `to` of a receipt. It has one line for each job that the receipt's parts name, in the order of
/// the lines. A line holds the installation, the registry entry, the recipient and, if known, the phone's
/// major system version, separated by tabs. These are a sheet's lines without the tokens, copied unchanged.
package enum ReceiptLines {
    package static let header: StaticString = "to"

    /// The addressee of one job.
    package struct Addressee: Sendable, Hashable {
        package var installation: String
        package var entry: String
        package var recipient: String

        package init(installation: String, entry: String, recipient: String) {
            self.installation = installation
            self.entry = entry
            self.recipient = recipient
        }
    }

    /// Returns the addressees in order. The first malformed line ends the list.
    package static func addressees(in bytes: Span<UInt8>) -> [Addressee] {
        let text = unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
        var list: [Addressee] = []
        for line in text.split(separator: "\n", maxSplits: SheetHead.jobsMax) {
            let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 3 || parts.count == 4, list.count < SheetHead.jobsMax else { break }
            list.append(Addressee(installation: parts[0], entry: parts[1], recipient: parts[2]))
        }
        return list
    }

    /// Returns the phone's major system version for each line. A line that does not name it has
    /// `OSVersion.unreportedMajor`.
    package static func systemVersions(in bytes: Span<UInt8>) -> [UInt8] {
        var systems: [UInt8] = []
        var tabs = 0
        var start = 0
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: "\t"):
                tabs += 1
                start = index + 1
            case UInt8(ascii: "\n"):
                let number = tabs == 3 ? systemVersion(from: bytes.extracting(start..<index)) : nil
                systems.append(number ?? OSVersion.unreportedMajor)
                tabs = 0
            default: break
            }
        }
        return systems
    }

    /// Returns the number, or nil if the digits are not a number of one byte.
    static func systemVersion(from digits: Span<UInt8>) -> UInt8? {
        guard 1...3 ~= digits.count else { return nil }
        var number = 0
        for index in digits.indices {
            guard 0x30...0x39 ~= digits[index] else { return nil }
            number = number * 10 + Int(digits[index] - 0x30)
        }
        return UInt8(exactly: number)
    }
}
