package import Registry

/// How far an expansion has come in its lane: what `Expansion.cursor` holds.
package struct WalkCursor: Sendable, Hashable {
    package enum Phase: UInt8, Sendable {
        /// The rows that the registry has for the audience.
        case told = 1
        /// Activities that came without a group and joined one by the ledger.
        case joined = 2
    }

    package var phase: Phase
    package var place: PageCursor

    package init(_ phase: Phase = .told, _ place: PageCursor) {
        self.phase = phase
        self.place = place
    }

    /// The golden ratio's fraction: its multiples, each in turn, fall into the largest gap that those before
    /// have left. So nobody is always last when each update drops the rest of the one before it.
    private static let golden = 0.618_033_988_749_894_9

    /// Where the update of a life with so many before it begins.
    package init(ordinal: Int) {
        let fraction = (Double(ordinal) * Self.golden).truncatingRemainder(dividingBy: 1)
        self.init(.told, PageCursor(startingAt: UInt16(fraction * 65_536)))
    }

    package var bytes: [UInt8] { [phase.rawValue] + place.bytes }

    /// Nil for what another program may have written; the walk then begins anew.
    package init?(bytes: [UInt8]) {
        guard let first = bytes.first, let phase = Phase(rawValue: first),
            let place = PageCursor(bytes: Array(bytes.dropFirst()))
        else { return nil }
        self.init(phase, place)
    }

    /// Whether a row of the group, told or joined, is still to be met.
    package func hasYetToMeet(_ row: borrowing TokenPageRow, joined: Bool) -> Bool {
        switch (phase, joined) {
        case (.told, true): true
        case (.joined, false): false
        case (.told, false), (.joined, true): place.hasYetToMeet(row)
        }
    }
}
