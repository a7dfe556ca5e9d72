internal import Containers
internal import Lifecycle

/// The lines of an app that wait for its unproven or its suspect connections, in the order in which they came. A line
/// beyond a limit moves to a tier (`DeliveryPlan+Eviction`).
struct ConnectionQueue {
    /// Limit of waiting lines, because their sheets hold up their partitions.
    static let linesMax = 1_000
    /// Limit of a line's wait, if its sheet holds up others.
    static let waitMilliseconds = 2_000

    private struct WaitingLine {
        let line: QueuedLine
        let since: Instant
    }

    private var lines = FIFOQueue<WaitingLine>()

    var isEmpty: Bool { lines.isEmpty }
    var isFull: Bool { lines.count >= Self.linesMax }
    var first: QueuedLine? { lines.first?.line }

    mutating func append(_ line: QueuedLine, at now: Instant) {
        line.sheet.move(line.line, on: .requeued)
        lines.append(WaitingLine(line: line, since: now))
    }

    mutating func removeFirst() { lines.removeFirst() }

    mutating func moveFirstToEnd() {
        guard let first = lines.first else { return }
        lines.removeFirst()
        lines.append(first)
    }

    /// Removes the lines that have waited as long as they may and for which `mustMove` is true, and returns them.
    mutating func takeLinesAtLimit(at now: Instant, mustMove: (QueuedLine) -> Bool) -> [QueuedLine] {
        var taken: [QueuedLine] = []
        lines.removeAll { waiting in
            let isAtLimit = now.milliseconds(since: waiting.since) >= Self.waitMilliseconds
            let isTaken = isAtLimit && mustMove(waiting.line)
            if isTaken { taken.append(waiting.line) }
            return isTaken
        }
        return taken
    }
}
