import Simulation
import StageSupport
import Testing

@testable import Scheduler

@Suite struct UpcomingTimersTests {
    /// There are more entries than the window holds, in random order, some already on disk. Each comes once.
    @Test func `a window gives any number of entries in due order`() {
        var chance = SeededGenerator(seed: 3)
        var window = UpcomingTimers()
        let count = UpcomingTimers.countMax + 7000
        var entries = (0..<count).map { number in
            DueEntry(dueAt: Int64(number / 3), key: HashedKey(Array("k\(number)".utf8)))
        }
        let sorted = entries.sorted()
        entries.shuffle(using: &chance)
        var disk: [DueEntry] = []
        window.add(page: [], isLast: true)
        for (number, entry) in entries.enumerated() {
            window.add(entry)
            guard number % 1000 == 999 else { continue }
            // The view has read back all rows but the newest.
            let unread = Set(entries[(number - 99)...number].map(\.key))
            disk = entries[...number].filter { !unread.contains($0.key) }.sorted()
            window.retainUnwritten { unread.contains($0) }
            #expect(window.count <= UpcomingTimers.countMax + 100)
        }
        disk = sorted.filter { entry in disk.isEmpty || !entries.suffix(100).contains(entry) }
        var taken: [DueEntry] = []
        while true {
            while window.needsPage {
                let rest = disk.filter { entry in window.nextPageStart.map { entry > $0 } ?? true }
                window.add(
                    page: Array(rest.prefix(UpcomingTimers.pageRows)),
                    isLast: rest.count <= UpcomingTimers.pageRows)
            }
            guard let entry = window.takeFirst() else { break }
            taken.append(entry)
        }
        #expect(taken == sorted)
    }
}
