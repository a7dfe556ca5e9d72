package import Registry
internal import Store

// The cursor of a walk: the position of an expansion in its lane.

extension PageCursor {
    /// The first byte of the stored form. Earlier versions of this program wrote 1 and 2.
    private static let walkLayout: UInt8 = 3

    /// The golden ratio's fraction. Each of its multiples falls into the largest gap between the earlier
    /// ones. So no recipient is always last.
    private static let goldenFraction = 0.618_033_988_749_894_9

    /// Makes the first cursor of an update, from the number of earlier updates in its generation.
    package init(ofUpdateNumber ordinal: Int) {
        let fraction = (Double(ordinal) * Self.goldenFraction).truncatingRemainder(dividingBy: 1)
        self.init(startingAt: UInt16(fraction * 65_536))
    }

    /// The form in `Expansion.cursor` and in `LaneScope.Walk`.
    package var walkBytes: [UInt8] { [Self.walkLayout] + bytes }

    /// Returns nil for bytes that another program version may have written. The walk then begins again.
    init?(walkBytes bytes: [UInt8]) {
        guard bytes.first == Self.walkLayout else { return nil }
        self.init(bytes: Array(bytes.dropFirst()))
    }
}
