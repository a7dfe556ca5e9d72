internal import LiveActivity

/// Reports that wait in phones, with a few bytes each. A report is encoded only when it is sent.
struct OutgoingReports {
    struct PendingReport {
        var kind: Report.Kind
        var state: Report.ActivityState = .active
        var phone: Int32
        /// Number of the start token, or index of the activity.
        var index: Int32 = 0
        var slotGeneration: UInt16 = 0
        /// Milliseconds since 1970.
        var eventTime: Int64
    }

    private var queue: [PendingReport] = []
    private var head = 0
    /// Phones that have not opened the app for the first time yet.
    private var launches: [Range<Int>] = []
    private(set) var lost = 0
    private(set) var sent = 0

    var count: Int { queue.count - head }
    var pendingLaunches: Int { launches.reduce(0) { $0 + $1.count } }
    var isEmpty: Bool { count == 0 && launches.isEmpty }

    mutating func append(_ pending: PendingReport, countMax: Int) {
        if count < countMax { queue.append(pending) } else { lost += 1 }
    }

    mutating func enqueueLaunches(ofPhones numbers: Range<Int>) {
        if !numbers.isEmpty { launches.append(numbers) }
    }

    mutating func next() -> PendingReport? {
        guard head < queue.count else { return nil }
        head += 1
        // Move the queue to its front once half of it has been sent. The cost per report is constant.
        defer {
            if head >= 1_024, 2 * head >= queue.count {
                queue.removeFirst(head)
                head = 0
            }
        }
        return queue[head - 1]
    }

    mutating func nextLaunchedPhone() -> Int? {
        guard let range = launches.first else { return nil }
        if range.count == 1 { launches.removeFirst() } else { launches[0] = range.dropFirst() }
        return range.lowerBound
    }

    mutating func recordSent(count reports: Int) { sent += reports }
}
