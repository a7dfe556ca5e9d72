package import LiveActivity

/// A record that the core wants stored. Its sheet's content is there until it is.
package struct SenderWrite {
    package enum Kind {
        /// Outcomes and marks.
        case receipt([Receipt.Part])
        /// Jobs that go on in a tier.
        case tier(LaterTier, SheetOrigin)
        /// Jobs that a person should see.
        case letter(code: String)
        /// A record that is no sheet, as it came.
        case malformed(MalformedSheet)
    }

    package let kind: Kind
    /// Nil for a record that is no sheet.
    package let sheet: Sheet?
    /// The sheet's lines that it is about.
    package let lines: LineSet
    package let lane: Int32
    /// Milliseconds since 1970.
    package let at: Int64
    /// What APNs said last of the jobs that are moved or buried.
    package let status: Int?
    package let reason: String?
    let laneInHand: Lane
    /// Where `receipts` ended when it was ordered: what becomes of its jobs elsewhere lies behind it.
    let receiptsFrom: Int64
    /// For a sheet of a tier: how many of our sheets there had no known offset; nil while an earlier owner may still write.
    let unplacedBefore: Int?
    /// It was written before, and nobody knows whether that is stored, too.
    var isRepeated = false

    /// The receipt, of a receipt.
    package var receipt: Receipt? {
        guard case .receipt(let parts) = kind, let sheet else { return nil }
        return Receipt(sheet.head, at: sheet.place, attempt: sheet.attempt, writtenAt: at, parts)
    }

    /// Its header `to`. It is empty for marks on the way of a push; that jobs wait in a tier, people ask for.
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
