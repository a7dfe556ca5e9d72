internal import Jobs
package import Sends

// The erasure of recipients: their waiting jobs end without a push.
extension DeliveryPlan {
    /// Handles an erasure from `superseded`.
    ///
    /// - Parameter erasedAt: the cluster's stamp on the record, in milliseconds since 1970.
    package mutating func erased(_ erasure: RecipientErasure, erasedAt: Int64, at time: CurrentTime) {
        self.time = time
        erasures.add(erasure, at: erasedAt)
        // A line of any other sheet in hand has its own decision before it leaves.
        for sheet in sheets.all where sheet.isQueued && sheet.head.app == erasure.app {
            dropErasedLines(of: sheet)
        }
    }

    /// Drops the waiting lines for erased recipients. An END is dropped too: no push reaches an erased user.
    mutating func dropErasedLines(of sheet: Sheet) {
        guard sheet.undecidedLines > 0, erasures.mayConcern(sheet) else { return }
        let erasures = erasures
        decideWaiting(sheet, as: Self.erasedOutcome) { erasures.isErased(sheet, line: $0) }
    }

    static var erasedOutcome: LineOutcome {
        .final(.superseded, status: nil, reason: ErasedRecipients.reason)
    }
}
