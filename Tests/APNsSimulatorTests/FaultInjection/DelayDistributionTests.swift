import Testing

@testable import APNsSimulator

/// The random delays of answers, by their distribution.
struct DelayDistributionTests {
    /// Draws that many delays, and returns them in order.
    private func draws(_ delay: DelayDistribution, count: Int = 50_000) -> [Int] {
        var random = SeededRandom(seed: 11)
        return (0..<count).map { _ in delay.drawMilliseconds(using: &random) }.sorted()
    }

    /// Returns the delay below which that part of the ordered draws lies.
    private func quantile(_ draws: [Int], _ part: Double) -> Double {
        Double(draws[Int(Double(draws.count - 1) * part)])
    }

    @Test func `a fixed delay is constant, and a uniform one reaches both of its bounds`() {
        #expect(Set(draws(.fixed(milliseconds: 40), count: 100)) == [40])
        let uniform = draws(.uniform(fromMilliseconds: 10, toMilliseconds: 20))
        #expect(uniform.first == 10 && uniform.last == 20)
        #expect(abs(quantile(uniform, 0.5) - 15) <= 1)
    }

    @Test func `an exponential delay has the expected mean and median`() {
        let draws = draws(.exponential(meanMilliseconds: 1_000))
        let mean = Double(draws.reduce(0, +)) / Double(draws.count)
        #expect(abs(mean - 1_000) < 40)
        // The median of an exponential distribution is its mean times the natural logarithm of 2, here 693 ms.
        #expect(abs(quantile(draws, 0.5) - 693) < 30)
    }

    @Test func `a lognormal delay has the given median and 99th percentile`() {
        let draws = draws(.lognormal(p50Milliseconds: 40, p99Milliseconds: 900))
        #expect(abs(quantile(draws, 0.5) - 40) < 3)
        #expect(abs(quantile(draws, 0.99) - 900) < 120)
    }

    @Test func `no delay is longer than an hour`() {
        let draws = draws(.lognormal(p50Milliseconds: 3_000_000, p99Milliseconds: 3_600_000))
        #expect(draws.last == DelayDistribution.millisecondsMax)
    }
}
