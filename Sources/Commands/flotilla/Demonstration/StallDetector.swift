internal import Lifecycle

/// A detector of a figure that has not changed for too long. The caller records the figure each time it looks.
struct StallDetector {
    private let limitMilliseconds: Int
    private var lastValue: Int?
    private var changedAt = Instant.now()

    init(limitMilliseconds: Int) { self.limitMilliseconds = limitMilliseconds }

    mutating func record(_ figure: Int) {
        if figure != lastValue { changedAt = .now() }
        lastValue = figure
    }

    var isStalled: Bool { Instant.now() >= changedAt.advanced(byMilliseconds: limitMilliseconds) }
}
