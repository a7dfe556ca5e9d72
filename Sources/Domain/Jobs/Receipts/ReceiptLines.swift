internal import Identifiers

/// The header `to` of a receipt: the addressees of its jobs. It has one line for each job that the receipt's
/// parts name, in the order of the parts. A line holds the installation, the registry entry, the recipient and,
/// if known, the phone's major system version, separated by tabs, for example
/// `phone-1\tupdate:activity-9\tu:ann\t26`. These are a sheet's lines without the tokens, copied unchanged.
package enum ReceiptLines {
    /// The number of columns that every line has. The system version is the column after them.
    private static let requiredColumns = 3

    /// The name of the Kafka header.
    package static let header: StaticString = "to"

    /// The addressee of one job.
    package struct Addressee: Sendable, Hashable {
        package var installation: String
        /// The registry entry: `start:<type>` or `update:<activity>`.
        package var entry: String
        /// `u:<user>` or `i:<installation>`.
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
            let columns = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard (requiredColumns...requiredColumns + 1).contains(columns.count),
                list.count < SheetHead.jobsMax
            else { break }
            list.append(Addressee(installation: columns[0], entry: columns[1], recipient: columns[2]))
        }
        return list
    }

    /// Returns the phone's major system version for each line. A line that does not name it has
    /// `OSVersion.unreportedMajor`.
    package static func systemVersions(in bytes: Span<UInt8>) -> [UInt8] {
        var versions: [UInt8] = []
        var tabCount = 0
        var (lineStart, columnStart) = (0, 0)
        func finishLine(at end: Int) {
            let isSystemColumn = tabCount == requiredColumns
            let version = isSystemColumn ? systemVersion(from: bytes.extracting(columnStart..<end)) : nil
            versions.append(version ?? OSVersion.unreportedMajor)
            tabCount = 0
            lineStart = end + 1
        }
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: "\t"):
                tabCount += 1
                columnStart = index + 1
            case UInt8(ascii: "\n"): finishLine(at: index)
            default: break
            }
        }
        // The newline of the last line is optional.
        if lineStart < bytes.count { finishLine(at: bytes.count) }
        return versions
    }

    /// Returns the major system version, or nil if the text is not a decimal number from 0 to 255.
    static func systemVersion(from digits: Span<UInt8>) -> UInt8? {
        // 255 has three digits.
        guard (1...3).contains(digits.count) else { return nil }
        var number = 0
        for index in digits.indices {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digits[index]) else { return nil }
            number = number * 10 + Int(digits[index] - UInt8(ascii: "0"))
        }
        return UInt8(exactly: number)
    }
}
