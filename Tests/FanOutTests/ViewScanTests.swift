import Lifecycle
import Store
import Testing

@testable import FanOut

/// The planner's passes through the rows of its partitions.
@Suite struct ViewScanTests {
    private let start = Instant(nanoseconds: 0)

    @Test(arguments: [0, 500, 1000, 4000, 10_000])
    func `the sweep deletes rows as fast as sends create them`(rowsPerSecond: Int) {
        // Rows are spread evenly, so each page has the table's share of expired rows.
        let retentionSeconds = 3600.0
        let living = Double(rowsPerSecond) * retentionSeconds
        var expired = 0.0
        var seconds = 0.0
        while seconds < 20 * retentionSeconds {
            let rows = min(Double(ViewScan.rowsMax), living + expired)
            let found = living == 0 ? 0 : rows * expired / (living + expired)
            let pageMilliseconds = 20
            let pause = ScanPause.milliseconds(
                in: .regular, expiredRows: Int(found), rows: Int(rows), pageMilliseconds: pageMilliseconds)
            let took = Double(pageMilliseconds + pause) / 1000
            expired += took * Double(rowsPerSecond) - found.rounded(.down)
            seconds += took
        }
        #expect(expired <= 2 * living, "\(Int(expired)) rows more than \(Int(living))")
    }

    @Test
    func `a page without expired rows is followed after a second, and no page takes more than its share`() {
        func pause(_ expired: Int, of rows: Int, taking milliseconds: Int) -> Int {
            ScanPause.milliseconds(
                in: .regular, expiredRows: expired, rows: rows, pageMilliseconds: milliseconds)
        }
        #expect(pause(0, of: 2000, taking: 5) == 1000)
        #expect(pause(0, of: 0, taking: 0) == 1000)
        #expect(pause(2000, of: 2000, taking: 20) == 60)
        #expect(pause(1, of: 2000, taking: 5) < 1000)
        #expect(pause(2000, of: 2000, taking: 800) == 2400)
    }

    @Test func `a first pass interrupts a pass for notes, which interrupts the regular pass`() {
        var scan = ViewScan()
        let owned: [Int32] = [1, 2, 3]
        var now = start
        func next() -> Int32? { scan.nextPartition(of: owned, at: now, intervalMilliseconds: 1000) }
        func finishPartition() { scan.finishPage(continuingIn: nil, notBefore: now) }
        #expect(next() == nil)
        now = now.advanced(byMilliseconds: 1000)
        #expect(next() == 1 && scan.pass == .regular && !scan.isUrgent)
        scan.finishPage(continuingIn: .everything, notBefore: now.advanced(byMilliseconds: 500))
        #expect(next() == nil && scan.nextPage(after: now) == now.advanced(byMilliseconds: 500))
        scan.add(2, for: .notes)
        scan.add(2, for: .notes)
        scan.add(3, for: .first)
        #expect(scan.isUrgent)
        #expect(next() == 3 && scan.pass == .first, "a first pass does not wait for the next page")
        finishPartition()
        #expect(next() == 2 && scan.pass == .notes && !scan.isUrgent)
        scan.add(1, for: .first)
        #expect(next() == 1 && scan.pass == .first)
        finishPartition()
        #expect(next() == 2 && scan.pass == .notes, "the interrupted pass begins again")
        finishPartition()
        for partition in owned {
            #expect(next() == partition && scan.pass == .regular)
            finishPartition()
        }
        #expect(next() == nil)
    }

    @Test func `a partition that was revoked is not walked`() {
        var scan = ViewScan()
        scan.add(1, for: .first)
        scan.add(2, for: .notes)
        let first = scan.nextPartition(of: [1, 2], at: start, intervalMilliseconds: 1000)
        let afterRevocation = scan.nextPartition(of: [3], at: start, intervalMilliseconds: 1000)
        #expect(first == 1 && afterRevocation == nil)
        #expect(!scan.isUrgent)
    }
}
