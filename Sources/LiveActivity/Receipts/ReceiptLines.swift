/// The header `to` of a receipt: for each job that its parts name, in the order of the lines, the
/// installation, the entry of the registry and the recipient, with tabs between. They are a sheet's lines
/// without the tokens, copied as they lie there.
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
            guard parts.count == 3, list.count < SheetHead.jobsMax else { break }
            list.append(Addressee(installation: parts[0], entry: parts[1], recipient: parts[2]))
        }
        return list
    }
}
