package import LiveActivity

/// One push of one receipt, as a person's timeline shows it.
package struct PushSeen: Sendable, Hashable {
    package var addressee: ReceiptLines.Addressee
    package var send: String
    package var group: String?
    package var version: Int64
    package var event: PushEvent
    package var environment: Environment
    package var attempt: Int
    package var outcome: ReceiptOutcome
    package var status: Int?
    package var reason: String?
    /// Of a job that waits in a tier: before it it is not pushed again; milliseconds since 1970.
    package var dueAt: Int64?
    /// Milliseconds since 1970: when the send was accepted, and when the receipt was written.
    package var acceptedAt: Int64
    package var at: Int64

    init(_ receipt: Receipt, _ part: Receipt.Part, to addressee: ReceiptLines.Addressee) {
        self.addressee = addressee
        (send, group, version) = (receipt.send, receipt.group, receipt.version)
        (event, environment, attempt) = (receipt.event, receipt.environment, receipt.attempt)
        (outcome, status, reason, dueAt) = (part.outcome, part.status, part.reason, part.dueAt)
        (acceptedAt, at) = (receipt.acceptedAt, receipt.at)
    }
}

extension Receipt {
    /// Its pushes in the order of their lines, which is the order of the addressees. Where these are too few,
    /// what is left of the lines is nobody's.
    ///
    /// - Parameter isWanted: whom to look for.
    package func pushes(
        to addressees: [ReceiptLines.Addressee], where isWanted: (ReceiptLines.Addressee) -> Bool
    ) -> [PushSeen] {
        var lines: [(line: Int, part: Int)] = []
        for (index, part) in parts.enumerated() { part.lines.forEachLine { lines.append(($0, index)) } }
        lines.sort { $0.line < $1.line }
        return zip(lines, addressees).compactMap { place, addressee in
            isWanted(addressee) ? PushSeen(self, parts[place.part], to: addressee) : nil
        }
    }
}
