/// The number of tokens that one transaction walks. It adapts to the allowed time. A commit costs about the
/// same for any size, so larger pages are cheaper. But a small send waits for as long as one page lasts.
package struct AdaptivePageSize: Sendable {
    package static let rowsMin = 500
    /// The most tokens of all lanes together.
    package static let rowsMax = 100_000
    private static let shrinkFactor = 0.7
    private static let growFactor = 1.25
    /// The least share of the allowed time that a page must take before it shrinks. Below it the page is not
    /// the reason for a slow transaction. On a busy cluster, the commit of twelve lanes alone can take longer
    /// than allowed.
    private static let pageShareMin = 0.25

    private let millisecondsMax: Double
    package private(set) var rows: Int

    package init(rowsAtStart: Int, millisecondsMax: Int) {
        rows = min(max(Self.rowsMin, rowsAtStart), Self.rowsMax)
        self.millisecondsMax = Double(millisecondsMax)
    }

    /// Adapts the size to a transaction. Registry news do not count, because smaller pages would not reduce
    /// them. Started phones report as many tokens as starts were sent, so pages would shrink to almost
    /// nothing.
    ///
    /// - Parameters:
    ///   - milliseconds: the duration of the transaction without news.
    ///   - walking: the part of it that the page took.
    ///   - looked: the tokens of the transaction. A transaction with less work than allowed counts only if it
    /// was too slow.
    ///   - share: the part of a full page that was allowed. The same part of the time applies.
    package mutating func adapt(
        toMilliseconds milliseconds: Double, walking: Double, tokens looked: Int, share: Double = 1
    ) {
        if looked == 0 { return }
        let millisecondsMax = millisecondsMax * share
        let looked = Int(Double(looked) / share)
        if milliseconds > millisecondsMax {
            guard walking > Self.pageShareMin * millisecondsMax else { return }
            rows = max(Self.rowsMin, Int(Double(min(rows, looked)) * Self.shrinkFactor))
        } else if looked >= rows, milliseconds < 0.8 * millisecondsMax {
            rows = min(Self.rowsMax, Int(Double(rows) * Self.growFactor))
        }
    }
}
