import Identifiers
import InstallationRecords
import Testing

@testable import Ingest

/// Tests of the order of reports. The later report wins, in any order of arrival. If the times are equal, the position
/// in the request body decides, or the offset.
@Suite struct OrderTests {
    private let phone = Phone()

    /// The writer that gives a report its order.
    enum Writer: CaseIterable {
        /// The gateway writes the position in the request body.
        case gateway
        /// A service writes records to the topic itself.
        case service
        /// A phone whose clock is a day ahead. All its times are cut to the server's time.
        case fastClock
    }

    /// Merges reports that arrived together, in one millisecond. They are merged in their order or in reverse, and then
    /// once more.
    private func mergedPhone(after reports: [Report], by writer: Writer, isReversed: Bool) -> Phone {
        let phone = Phone()
        var receivedReports = reports.enumerated().map { position, report in
            var received = ReceivedReport(
                report: report, receivedAt: Phone.at(5), offset: Int64(70 + position))
            switch writer {
            case .gateway:
                received.report.bodyPosition = position
                received.offset = 0
            case .service: break
            case .fastClock:
                received.report.eventTime = Phone.at(24 * 60) + Int64(position)
                // The gateway received them in another order.
                received.report.bodyPosition = reports.count - position
            }
            return received
        }
        if isReversed { receivedReports.reverse() }
        for received in receivedReports + receivedReports { phone.run.merge(received) }
        return phone
    }

    private func startToken(_ token: String, type: String = "Match") -> Report {
        phone.makeReport(.startToken) {
            $0.token = token
            $0.attributesType = type
        }
    }

    @Test(arguments: Writer.allCases, [false, true])
    func `the later of a login and a logout wins`(_ writer: Writer, _ isReversed: Bool) {
        let login = phone.makeReport(.profile) { $0.user = "ben" }
        let logout = phone.makeReport(.profile) { $0.isLoggedOut = true }
        let loggedOut = mergedPhone(after: [login, logout], by: writer, isReversed: isReversed)
        #expect(loggedOut.run.installation?.recipient == .installation("i"))
        let loggedIn = mergedPhone(after: [logout, login], by: writer, isReversed: isReversed)
        #expect(loggedIn.run.installation?.recipient == .user("ben"))
    }

    @Test(arguments: Writer.allCases, [false, true])
    func `a type that is unregistered and then gets a token can be reached`(
        _ writer: Writer, _ isReversed: Bool
    ) {
        let unregister = phone.makeReport(.unregister) { $0.attributesType = "Match" }
        let registered = mergedPhone(
            after: [unregister, startToken("aa")], by: writer, isReversed: isReversed)
        #expect(registered.rows == ["i:i start:Match aa"])
        let unregistered = mergedPhone(
            after: [startToken("aa"), unregister], by: writer, isReversed: isReversed)
        #expect(unregistered.rows.isEmpty)
    }

    @Test(arguments: Writer.allCases, [false, true])
    func `the second of two tokens in one body wins`(_ writer: Writer, _ isReversed: Bool) {
        for (first, second) in [("aa", "bb"), ("bb", "aa")] {
            let phone = mergedPhone(
                after: [startToken(first), startToken(second)], by: writer, isReversed: isReversed)
            #expect(phone.rows == ["i:i start:Match \(second)"])
        }
    }

    @Test(arguments: Writer.allCases, [false, true])
    func `a list of running activities ends earlier reports and not later ones`(
        _ writer: Writer, _ isReversed: Bool
    ) {
        let token = phone.makeReport(.updateToken) {
            $0.token = "aa"
            $0.activity = "A"
        }
        let list = phone.makeReport(.reconcile) { $0.runningActivities = ["B"] }
        #expect(mergedPhone(after: [token, list], by: writer, isReversed: isReversed).rows.isEmpty)
        #expect(
            mergedPhone(after: [list, token], by: writer, isReversed: isReversed).rows == ["i:i update:A aa"])
    }

    @Test func `a forwarded report keeps its order`() {
        // Both were in a wrong partition and return with one time, the second first.
        let reports = [startToken("aa"), startToken("bb")]
        for offset in [1, 0] { phone.run.merge(reports[offset], at: Phone.at(1), offset: Int64(offset)) }
        #expect(phone.rows == ["i:i start:Match bb"])
    }

    @Test func `a clock that was ahead does not outrank the reports of the next day`() {
        phone.startToken("aa", at: 0, happened: 90_000)
        phone.startToken("bb", at: 1, happened: 1)
        #expect(phone.rows == ["i:i start:Match bb"])
    }

    @Test func `reports of equal times are forgotten independently of their order`() {
        func kept(_ numbers: [Int]) -> Set<String> {
            let phone = Phone()
            for number in numbers { phone.updateToken("bb", of: "activity-\(number)", at: 0) }
            return Set(phone.run.installation?.activities.map(\.id) ?? [])
        }
        let numbers = Array(0...Installation.activitiesMax)
        #expect(kept(numbers) == kept(numbers.reversed()))
        #expect(kept(numbers).count == Installation.activitiesMax)
    }
}
