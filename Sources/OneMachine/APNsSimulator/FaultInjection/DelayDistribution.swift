internal import Glibc

/// A distribution of the delays of answers. A delay is at most `millisecondsMax`.
enum DelayDistribution: Sendable, Hashable {
    /// One hour. No client waits longer for an answer.
    static let millisecondsMax = 3_600_000

    case fixed(milliseconds: Int)
    case uniform(fromMilliseconds: Int, toMilliseconds: Int)
    case exponential(meanMilliseconds: Int)
    /// Half of the answers arrive within the first time, and 99 % within the second.
    case lognormal(p50Milliseconds: Int, p99Milliseconds: Int)

    /// Number of standard deviations between the median and the 99th percentile of a normal distribution.
    private static let deviationsToP99 = 2.326_347_874_040_841

    /// Returns a random delay.
    func drawMilliseconds(using random: inout SeededRandom) -> Int {
        switch self {
        case .fixed(let milliseconds): return milliseconds
        case .uniform(let from, let to): return Int.random(in: from...to, using: &random)
        case .exponential(let mean): return Self.clamped(Double(mean) * random.exponential())
        case .lognormal(let p50, let p99):
            let deviation = log(Double(p99) / Double(p50)) / Self.deviationsToP99
            return Self.clamped(Double(p50) * exp(deviation * random.standardNormal()))
        }
    }

    private static func clamped(_ milliseconds: Double) -> Int {
        Int(min(Double(millisecondsMax), milliseconds.rounded()))
    }
}
