package import Registry

/// The position of an expansion in its lane, which `Expansion.cursor` holds.
package struct WalkCursor: Sendable, Hashable {
    package enum Phase: UInt8, Sendable {
        /// The rows that the registry has for the audience.
        case reported = 1
        /// Activities without a reported group that have joined the group.
        case joined = 2
    }

    package var phase: Phase
    package var pageCursor: PageCursor

    package init(phase: Phase = .reported, pageCursor place: PageCursor) {
        self.phase = phase
        self.pageCursor = place
    }

    /// The golden ratio's fraction. Each of its multiples falls into the largest gap between the earlier
    /// ones. So no recipient is always last when each update drops the rest of the previous one.
    private static let goldenFraction = 0.618_033_988_749_894_9

    /// Makes the first cursor of an update, from the number of earlier updates in its generation.
    package init(ordinal: Int) {
        let fraction = (Double(ordinal) * Self.goldenFraction).truncatingRemainder(dividingBy: 1)
        self.init(phase: .reported, pageCursor: PageCursor(startingAt: UInt16(fraction * 65_536)))
    }

    package var bytes: [UInt8] { [phase.rawValue] + pageCursor.bytes }

    /// Returns nil for bytes that another program version may have written. The walk then begins again.
    package init?(bytes: [UInt8]) {
        guard let first = bytes.first, let phase = Phase(rawValue: first),
            let place = PageCursor(bytes: Array(bytes.dropFirst()))
        else { return nil }
        self.init(phase: phase, pageCursor: place)
    }

    /// Whether the walk will still reach a row of the group, reported or joined.
    package func willReach(_ row: borrowing TokenPageRow, joined: Bool) -> Bool {
        switch (phase, joined) {
        case (.reported, true): true
        case (.joined, false): false
        case (.reported, false), (.joined, true): pageCursor.willVisit(row)
        }
    }
}
