internal import Synchronization

/// A histogram of Prometheus: the number of values up to each of its fixed bounds, and their sum.
package final class Histogram: Sendable {
    /// Bounds in seconds from half a millisecond to a minute. Shorter times do not matter here.
    package static let secondsBounds: [Double] = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ]

    struct Snapshot {
        /// The number of values between two bounds: one count per bound, and one above the last bound.
        var counts: [Int]
        var sum = 0.0
    }

    let bounds: [Double]
    private let state: Mutex<Snapshot>

    init(bounds: [Double]) {
        precondition(!bounds.isEmpty && bounds == bounds.sorted(), "the bounds of a histogram must ascend")
        self.bounds = bounds
        state = Mutex(Snapshot(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    /// Records a value `count` times, so that a batch of equal values is one call.
    package func observe(_ value: Double, count: Int = 1) {
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[bucket] += count
            state.sum += value * Double(count)
        }
    }

    var snapshot: Snapshot { state.withLock { $0 } }
}
