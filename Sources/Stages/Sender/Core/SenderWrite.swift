package import LiveActivity

/// A record that the core wants stored. Its sheet keeps the content until it is stored.
package struct SenderWrite {
    package enum Kind {
        /// Final outcomes, and marks such as intents and moves.
        case receipt([Receipt.Part])
        /// Jobs that continue in a tier.
        case tier(LaterTier, SheetOrigin)
        /// Jobs for the dead letters, because a person should see them.
        case letter(code: String)
        /// A record that is not a sheet, as it was read.
        case malformed(MalformedSheet)
    }

    package let kind: Kind
    /// Its sheet; nil for a record that is not a sheet.
    package let sheet: Sheet?
    /// The sheet's lines that the record is about.
    package let lines: LineSet
    package let lane: Int32
    /// Milliseconds since 1970.
    package let at: Int64
    /// The last answer of APNs about jobs that move to a tier or to the dead letters.
    package let status: Int?
    package let reason: String?
    let laneInHand: Lane
    /// End of `receipts` when the record was ordered. Later receipts about its jobs lie at or above it.
    let receiptsFrom: Int64
    /// For a tier's record: number of our sheets in the tier whose offsets were unknown; nil while an earlier
    /// owner may still write there.
    let unplacedBefore: Int?
    /// Whether it was written before and that copy may be stored too.
    var isRepeated = false

    /// The receipt; nil for other records.
    package var receipt: Receipt? {
        guard case .receipt(let parts) = kind, let sheet else { return nil }
        return Receipt(sheet.head, at: sheet.place, attempt: sheet.attempt, writtenAt: at, parts)
    }

    /// The value of the header `to`. It is empty for marks on the way of a push, but not for moves, because
    /// people ask for jobs that wait in a tier.
    package var addressees: [UInt8] {
        guard case .receipt(let parts) = kind, let sheet,
            parts.contains(where: { $0.outcome.isFinal || $0.outcome == .moved })
        else { return [] }
        return sheet.content.addressees(lines, sheet.index)
    }
}

/// A record of a jobs topic that cannot be read as a sheet.
package struct MalformedSheet: Sendable {
    package struct Header: Sendable, Hashable {
        package let name: [UInt8]
        package let value: [UInt8]?

        package init(name: [UInt8], value: [UInt8]?) {
            self.name = name
            self.value = value
        }
    }

    package var topic: JobTopic
    package var offset: Int64
    package var error: SheetError
    package var key: [UInt8]?
    package var value: [UInt8]?
    package var headers: [Header]
    package var writtenAt: Int64

    package init(
        topic: JobTopic, offset: Int64, error: SheetError, key: [UInt8]?, value: [UInt8]?, headers: [Header],
        writtenAt: Int64
    ) {
        (self.topic, self.offset, self.error) = (topic, offset, error)
        (self.key, self.value, self.headers, self.writtenAt) = (key, value, headers, writtenAt)
    }
}
