internal import Foundation

/// The results of one client in a comparison, one element for each round.
struct ClientSeries {
    /// Pushes per second.
    private(set) var rates: [Double] = []
    /// Processor seconds per 100,000 pushes.
    private(set) var costs: [Double] = []

    mutating func append(rate: Double, processorSeconds: Double, pushCount: Int) {
        rates.append(rate)
        costs.append(Self.cost(ofProcessorSeconds: processorSeconds, pushCount: pushCount))
    }

    /// Returns the processor seconds per 100,000 pushes.
    static func cost(ofProcessorSeconds seconds: Double, pushCount: Int) -> Double {
        seconds / Double(pushCount) * 100_000
    }

    /// The medians of all rounds, and the range of the costs.
    var summary: String {
        func threeDecimals(_ number: Double) -> String { String(format: "%.3f", number) }
        let sortedCosts = costs.sorted()
        let (lowest, highest) = (sortedCosts[0], sortedCosts[sortedCosts.count - 1])
        return "\(grouped(rates.median)) pushes a second, processor \(threeDecimals(costs.median)) "
            + "[\(threeDecimals(lowest))-\(threeDecimals(highest))]"
    }
}
