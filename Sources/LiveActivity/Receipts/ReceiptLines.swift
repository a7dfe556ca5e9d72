/// The header `to` of a receipt: for each job that its parts name, in the order of the lines, the
/// installation, the entry of the registry, the recipient, and the first number of the phone's system where it is known,
/// with tabs between. They are a sheet's lines without the tokens, copied as they lie there.
package enum ReceiptLines {
    package static let header: StaticString = "to"

    /// Whom one job went to.
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

    /// In order; what is no line is left out with all that follows it.
    package static func read(_ bytes: Span<UInt8>) -> [Addressee] {
        let text = unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
        var list: [Addressee] = []
        for line in text.split(separator: "\n", maxSplits: SheetHead.jobsMax) {
            let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 3 || parts.count == 4, list.count < SheetHead.jobsMax else { break }
            list.append(Addressee(installation: parts[0], entry: parts[1], recipient: parts[2]))
        }
        return list
    }

    /// Of a line that does not name the phone's system.
    package static let systemUnsaid: UInt8 = 0

    /// For each line the first number of its phone's system.
    package static func systems(_ bytes: Span<UInt8>) -> [UInt8] {
        var systems: [UInt8] = []
        var tabs = 0
        var start = 0
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: "\t"):
                tabs += 1
                start = index + 1
            case UInt8(ascii: "\n"):
                let number = tabs == 3 ? system(bytes.extracting(start..<index)) : nil
                systems.append(number ?? systemUnsaid)
                tabs = 0
            default: break
            }
        }
        return systems
    }

    /// Nil for what is no number of a byte, in digits.
    static func system(_ digits: Span<UInt8>) -> UInt8? {
        guard 1...3 ~= digits.count else { return nil }
        var number = 0
        for index in digits.indices {
            guard 0x30...0x39 ~= digits[index] else { return nil }
            number = number * 10 + Int(digits[index] - 0x30)
        }
        return UInt8(exactly: number)
    }
}
