package import Identifiers
package import Jobs
package import Payloads

/// One push to one person, from a receipt, as it appears in the person's timeline.
package struct TimelinePush: Sendable, Hashable {
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
    /// The earliest time of the next push of a job that waits in a retry tier, in milliseconds since 1970.
    package var dueAt: Int64?
    /// The time at which the send was accepted, in milliseconds since 1970.
    package var acceptedAt: Int64
    /// The time at which the receipt was written, in milliseconds since 1970.
    package var at: Int64

    init(receipt: Receipt, part: Receipt.Part, to addressee: ReceiptLines.Addressee) {
        self.addressee = addressee
        (send, group, version) = (receipt.send, receipt.group, receipt.version)
        (event, environment, attempt) = (receipt.event, receipt.environment, receipt.attempt)
        (outcome, status, reason, dueAt) = (part.outcome, part.status, part.reason, part.dueAt)
        (acceptedAt, at) = (receipt.acceptedAt, receipt.writtenAt)
    }
}

extension Receipt {
    /// Returns its pushes in the order of their lines, which is the order of the addressees. Lines without an
    /// addressee are left out.
    ///
    /// - Parameter isWanted: Selects the addressees.
    package func pushes(
        to addressees: [ReceiptLines.Addressee], where isWanted: (ReceiptLines.Addressee) -> Bool
    ) -> [TimelinePush] {
        var lines: [(line: Int, part: Int)] = []
        for (index, part) in parts.enumerated() { part.lines.forEachLine { lines.append(($0, index)) } }
        lines.sort { $0.line < $1.line }
        return zip(lines, addressees).compactMap { line, addressee in
            isWanted(addressee) ? TimelinePush(receipt: self, part: parts[line.part], to: addressee) : nil
        }
    }
}
