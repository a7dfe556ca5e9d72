import Simulation
import StageSupport
import Testing

@testable import Scheduler

/// Tests of `UpcomingTimers`: the timers in memory that are due next. The others are in the view's file, and are read
/// page by page.
@Suite struct UpcomingTimersTests {
    /// There are more entries than memory holds, in random order, some already in the file. Each comes once.
    @Test func `any number of entries comes in due order`() {
        var random = SeededGenerator(seed: 3)
        var upcomingTimers = UpcomingTimers()
        let count = UpcomingTimers.countMax + 7000
        var entries = (0..<count).map { number in
            DueEntry(dueAt: Int64(number / 3), key: HashedKey(Array("k\(number)".utf8)))
        }
        let sorted = entries.sorted()
        entries.shuffle(using: &random)
        upcomingTimers.add(page: [], isLast: true)
        for (number, entry) in entries.enumerated() {
            upcomingTimers.add(entry)
            guard number % 1000 == 999 else { continue }
            // The view has read back all rows but the newest hundred.
            let unread = Set(entries[(number - 99)...number].map(\.key))
            upcomingTimers.retainUnwritten { unread.contains($0) }
            #expect(upcomingTimers.count <= UpcomingTimers.countMax + 100)
        }
        let unwrittenKeys = Set(entries.suffix(100).map(\.key))
        let fileEntries = sorted.filter { !unwrittenKeys.contains($0.key) }
        var takenEntries: [DueEntry] = []
        while true {
            while upcomingTimers.needsPage {
                let remaining = fileEntries.filter { entry in
                    upcomingTimers.nextPageStart.map { entry > $0 } ?? true
                }
                upcomingTimers.add(
                    page: Array(remaining.prefix(UpcomingTimers.pageRows)),
                    isLast: remaining.count <= UpcomingTimers.pageRows)
            }
            guard let entry = upcomingTimers.takeFirst() else { break }
            takenEntries.append(entry)
        }
        #expect(takenEntries == sorted)
    }
}
