internal import InstallationRecords

/// The queue of the phones' reports to their server. A waiting report has few bytes, because millions can wait:
/// it is encoded only when it is sent (`Phones+ReportSending`).
struct OutgoingReports {
    /// The facts from which a report is encoded.
    struct PendingReport {
        var kind: Report.Kind
        var state: Report.ActivityState = .active
        /// Number of the phone.
        var phone: Int32
        /// Slot of the start token, or index of the activity.
        var index: Int32 = 0
        /// For an activity: number of the use of its slot.
        var slotGeneration: UInt16 = 0
        /// Milliseconds since 1970.
        var eventTime: Int64
    }

    /// The queue is compacted only if at least this many reports at its start were sent.
    private static let sentReportsMin = 1_024

    private var queue: [PendingReport] = []
    /// Index of the first report that is not sent.
    private var head = 0
    /// Numbers of the phones that have yet to open the app for the first time.
    private var launches: [Range<Int>] = []
    /// Number of reports that were dropped because too many waited.
    private(set) var lostCount = 0
    /// Number of sent reports.
    private(set) var sentCount = 0

    /// Number of waiting reports. First launches are not counted.
    var count: Int { queue.count - head }
    /// Number of phones that will open the app for the first time.
    var pendingLaunches: Int { launches.reduce(0) { $0 + $1.count } }
    var isEmpty: Bool { count == 0 && launches.isEmpty }

    /// Appends a report, or drops it if `countMax` reports wait.
    mutating func append(_ pending: PendingReport, countMax: Int) {
        if count < countMax { queue.append(pending) } else { lostCount += 1 }
    }

    /// Lets the phones of a range open the app for the first time, one by one (`nextLaunchedPhone`).
    mutating func enqueueLaunches(ofPhones numbers: Range<Int>) {
        if !numbers.isEmpty { launches.append(numbers) }
    }

    /// Removes and returns the first waiting report.
    mutating func next() -> PendingReport? {
        guard head < queue.count else { return nil }
        let report = queue[head]
        head += 1
        // The waiting reports move to the front of the array when half of it has been sent. So the cost for
        // each report is constant.
        let isHalfSent = 2 * head >= queue.count
        if head >= Self.sentReportsMin, isHalfSent {
            queue.removeFirst(head)
            head = 0
        }
        return report
    }

    /// Returns the number of the next phone that opens the app for the first time.
    mutating func nextLaunchedPhone() -> Int? {
        guard let range = launches.first else { return nil }
        if range.count == 1 { launches.removeFirst() } else { launches[0] = range.dropFirst() }
        return range.lowerBound
    }

    mutating func recordSent(count: Int) { sentCount += count }
}
