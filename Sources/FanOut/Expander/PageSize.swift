/// How many tokens one transaction looks at: as many as its time allows, as the last ones have shown. A commit
/// costs the same whatever is in it, so larger is cheaper, and a small send waits for as long as one lasts.
package struct PageSize: Sendable {
    package static let rowsMin = 500
    /// Of all lanes together.
    package static let rowsMax = 100_000
    private static let shrink = 0.7
    private static let grow = 1.25
    /// Of the time of a transaction. A page that takes less of it is not why it lasts: a commit of twelve lanes alone
    /// can take longer than allowed, on a busy cluster, whatever is in it.
    private static let pageShareMin = 0.25

    private let millisecondsMax: Double
    package private(set) var rows: Int

    package init(rowsAtStart: Int, millisecondsMax: Int) {
        rows = min(max(Self.rowsMin, rowsAtStart), Self.rowsMax)
        self.millisecondsMax = Double(millisecondsMax)
    }

    /// What a transaction hears of the registry is not the page's, and no smaller page would make it less: phones that
    /// are started report as many tokens as starts have left, and pages would shrink until nearly none left.
    ///
    /// - Parameters:
    ///   - milliseconds: what the transaction took, but for that.
    ///   - walking: how much of it the page took.
    ///   - looked: tokens of the transaction; one that had less to do than it might says nothing, unless it took too long.
    ///   - share: of a page, that it was to look at: so much of the time is its, too.
    package mutating func took(
        _ milliseconds: Double, walking: Double, for looked: Int, of share: Double = 1
    ) {
        if looked == 0 { return }
        let millisecondsMax = millisecondsMax * share
        let looked = Int(Double(looked) / share)
        if milliseconds > millisecondsMax {
            guard walking > Self.pageShareMin * millisecondsMax else { return }
            rows = max(Self.rowsMin, Int(Double(min(rows, looked)) * Self.shrink))
        } else if looked >= rows, milliseconds < 0.8 * millisecondsMax {
            rows = min(Self.rowsMax, Int(Double(rows) * Self.grow))
        }
    }
}
