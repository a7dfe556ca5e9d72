internal import Containers
internal import Lifecycle

/// The lines of an app that wait for its unproven or its suspect connections.
struct ConnectionQueue {
    /// Limit of waiting lines. There is one, because the sheets of waiting lines hold up their partitions. At the
    /// limit, lines with a suspect token move to a tier, and lines with an unproven one use the usual connections
    /// (`LineDecision`).
    static let linesMax = 1_000

    private var lines = FIFOQueue<QueuedLine>()
    /// Time at which a line of the queue was last dispatched, or at which the first line came.
    var movedAt = Instant(nanoseconds: 0)

    var isEmpty: Bool { lines.isEmpty }
    var isFull: Bool { lines.count >= Self.linesMax }

    /// Whether lines wait and none was dispatched for some time, because the connections are full.
    func isStuck(at now: Instant) -> Bool {
        !lines.isEmpty && now.milliseconds(since: movedAt) >= AppSilence.shortMilliseconds
    }

    mutating func append(_ line: QueuedLine, at now: Instant) {
        if lines.isEmpty { movedAt = now }
        lines.append(line)
    }

    /// Appends a line that was taken and could not leave. The queue has not moved.
    mutating func putBack(_ line: QueuedLine) { lines.append(line) }

    mutating func takeFirst() -> QueuedLine? {
        guard let line = lines.first else { return nil }
        lines.removeFirst()
        return line
    }

    mutating func takeAll() -> FIFOQueue<QueuedLine> {
        let taken = lines
        lines = FIFOQueue()
        return taken
    }
}
