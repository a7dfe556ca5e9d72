package import Jobs

/// A record that the plan asks the loop to store: a receipt, a sheet for a tier, or a dead letter. Its bytes are made
/// from its sheet when it is written, so the sheet stays in hand until it is stored.
package struct RecordToWrite {
    /// The kind of the record, with the facts that its sheet does not have.
    package enum Content {
        /// Final outcomes, and marks: intents, moves and releases. Intents and releases have a separate receipt with
        /// one part.
        case receipt([Receipt.Part])
        /// Jobs that continue in a tier.
        case tier(LaterTier, SheetOrigin)
        /// Jobs for the dead letters, because a person should see them.
        case deadLetter(code: String)
        /// A record that is not a sheet, as it was read.
        case malformed(MalformedSheet)
    }

    package let content: Content
    /// Its sheet; nil for a malformed record.
    package let sheet: Sheet?
    /// The sheet's lines that the record is about.
    package let lines: LineSet
    /// The lane to whose partition it is written.
    let laneInHand: Lane
    /// Time of the order, in milliseconds since 1970.
    package let writtenAt: Int64
    /// Status of APNs' last answer about jobs that move to a tier or to the dead letters.
    package let status: Int?
    /// Reason of that answer, or of the sender.
    package let reason: String?
    /// End of `receipts` when the record was ordered. Later receipts about its jobs lie at or above it.
    let receiptsFrom: Int64
    /// For a tier's record: number of our sheets in the tier whose offsets were unknown when it was ordered. It is nil
    /// for other records, and while an earlier owner may still write there.
    let sheetsWithoutOffsetWhenOrdered: Int?
    /// Whether it was written before and that copy may be stored too.
    package internal(set) var isRepeated = false

    init(
        _ content: Content, of sheet: Sheet?, lines: LineSet, in lane: Lane, at time: CurrentTime,
        status: Int?, reason: String?
    ) {
        self.content = content
        self.sheet = sheet
        self.lines = lines
        laneInHand = lane
        self.status = status
        self.reason = reason
        writtenAt = time.unixMilliseconds
        receiptsFrom = lane.receiptsEnd
        if case .tier(let tier, _) = content, lane.haveEarlierPushesEnded {
            sheetsWithoutOffsetWhenOrdered = lane[tier.jobTopic].earlierSheets.ownSheetsWithoutOffset
        } else {
            sheetsWithoutOffsetWhenOrdered = nil
        }
    }

    /// The number of the lane.
    package var lane: Int32 { laneInHand.number }

    /// Whether it must not be written for a lane that may belong to another process. A receipt that also has answers of
    /// APNs must be written.
    var needsLease: Bool {
        switch content {
        case .tier: true
        case .receipt(let parts): parts.allSatisfy(\.outcome.needsLease)
        case .deadLetter, .malformed: false
        }
    }

    /// The receipt; nil for other records.
    package var receipt: Receipt? {
        guard case .receipt(let parts) = content, let sheet else { return nil }
        return Receipt(
            sheet.head, at: sheet.originPosition, attempt: sheet.attempt, writtenAt: writtenAt, parts: parts)
    }

    /// The value of a receipt's header `to`; empty for intents and releases. A move has one, because people search for
    /// jobs that wait in a tier.
    package var addressees: [UInt8] {
        guard case .receipt(let parts) = content, let sheet else { return [] }
        let namesAddressees = parts.contains { $0.outcome.isFinal || $0.outcome == .moved }
        guard namesAddressees else { return [] }
        return sheet.content.addressees(lines, by: sheet.index)
    }
}
