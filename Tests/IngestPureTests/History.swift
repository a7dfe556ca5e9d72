import CatalogRecords
import Identifiers
import InstallationRecords
import JSON
import Simulation
import TokenSealing

/// A report as the stage receives it.
struct ReceivedReport {
    var report: Report
    /// The timestamp of the record, in milliseconds since 1970.
    var receivedAt: Int64
    /// The offset at which the report was first stored.
    var offset: Int64 = 0
}

/// Random reports about one phone, from the phone, its backend and the senders: rotations of tokens, logins, refusals,
/// contradictions, wrong clocks, and late reports.
struct History {
    /// The time of the first report, in milliseconds since 1970.
    static let start: Int64 = 1_763_000_000_000
    static let hour: Int64 = 3_600_000
    /// The length is below the longest delay of a report, two days. So nothing is forgotten that a late report could
    /// still contradict.
    static let lengthMax = 47 * hour

    static let app: App = {
        var order = ActivityType(name: "Order")
        order.updateTokenMilliseconds = hour
        return App(
            id: "shop", bundleID: "com.example.shop", environments: [.production, .sandbox],
            teamID: "ABCDE12345", keyID: "KEY1234567", types: [order])
    }()
    static let types = [nil, "Match", "Order"]
    static let activities = ["A", "B", "C"]
    static let tokens = ["00", "11aa", "22bb22", "33"]
    static let users = ["anna", "ben"]

    private(set) var reports: [ReceivedReport] = []
    /// The time after the last report, in milliseconds since 1970.
    let end: Int64

    init(using random: inout SeededGenerator) {
        // Two days, an hour or a few minutes. Within one write interval no write happens by chance.
        let lengthMax = [Self.lengthMax, Self.hour, Self.hour / 10][random.number(below: 3)]
        let length = lengthMax / 2 + Int64(random.number(below: Int(lengthMax / 2)))
        end = Self.start + length
        // Only a few different times, because ties are the likeliest place for wrong orders.
        let timeCount = 24
        let timeInterval = length / Int64(timeCount)
        for _ in 0..<(1 + random.number(below: 14)) {
            let receivedAt = Self.start + Int64(random.number(below: timeCount)) * timeInterval
            var report = Self.makeReport(at: receivedAt, using: &random)
            // The time by the phone's clock: a little earlier, much earlier, in the future, or any.
            switch random.number(below: 6) {
            case 0: report.eventTime = receivedAt - Int64(random.number(below: Int(3 * Self.hour)))
            case 1: report.eventTime = receivedAt - Int64(random.number(below: 100)) * Self.hour
            case 2: report.eventTime = receivedAt + Int64(random.number(below: 1000)) * Self.hour
            case 3:
                report.eventTime = Self.start + Int64(random.number(below: timeCount)) * timeInterval
            default: break
            }
            reports.append(ReceivedReport(report: report, receivedAt: receivedAt))
        }
        orderReports(using: &random)
    }

    /// Gives some reports a position within a request body, and all of them an offset. Both are independent
    /// of the times, so that only the rules decide which report is the last.
    private mutating func orderReports(using random: inout SeededGenerator) {
        // No, half or all of the reports have a position.
        let halvesWithPosition = random.number(below: 3)
        for (offset, index) in reports.indices.shuffled(using: &random).enumerated() {
            reports[index].offset = Int64(offset)
            if random.number(below: 2) < halvesWithPosition {
                reports[index].report.bodyPosition = random.number(below: 3)
            }
        }
    }

    private static func makeReport(at time: Int64, using random: inout SeededGenerator) -> Report {
        switch random.number(below: 60) {
        case 0, 1: return Report(app: app.id, environment: .production, installation: "i", kind: .erase)
        case 2: return Report(app: app.id, erasing: pick(users, &random))
        default: break
        }
        if random.number(below: 12) == 0 {
            var report = Report(app: app.id, profileOf: pick(users, &random))
            report.tags = [pick(["vip", "new"], &random)]
            return report
        }
        // Tokens are more frequent than other kinds.
        let kinds: [Report.Kind] = [
            .startToken, .startToken, .updateToken, .updateToken, .state, .unregister, .heartbeat, .reconcile,
            .profile, .tap, .deadToken,
        ]
        var report = Report(
            app: app.id, environment: random.number(below: 8) == 0 ? .sandbox : .production,
            installation: "i", kind: pick(kinds, &random))
        if report.kind == .deadToken {
            report.refusal = makeRefusal(at: time, using: &random)
            return report
        }
        addContent(to: &report, using: &random)
        addActivity(to: &report, using: &random)
        addPhoneFields(to: &report, using: &random)
        return report
    }

    private static func makeRefusal(
        at time: Int64, using random: inout SeededGenerator
    ) -> Report.TokenRefusal {
        let token = PushToken(hex: pick(tokens, &random))!
        let hash = TokenSeal(keys: nil).hash(of: token)
        return Report.TokenRefusal(
            tokenHash: String(decoding: Hex.encode(hash), as: UTF8.self), entry: "start:",
            reason: "Unregistered",
            invalidatedAt: random.number(below: 3) == 0
                ? nil : time - Int64(random.number(below: 30)) * hour,
            dispatchedAt: time - Int64(random.number(below: 3)) * hour)
    }

    /// Adds the fields that only this kind of report has.
    private static func addContent(to report: inout Report, using random: inout SeededGenerator) {
        switch report.kind {
        case .startToken:
            report.attributesType = pick(types, &random)
            report.token = pick(tokens, &random)
        case .updateToken:
            report.token = pick(tokens, &random)
            if random.number(below: 4) == 0 { report.channel = "channel" }
        case .state: report.state = pick(Report.ActivityState.allCases, &random)
        case .unregister: report.attributesType = pick(["Match", "Order"], &random)
        case .reconcile:
            report.runningActivities = activities.filter { _ in random.number(below: 2) == 0 }.shuffled(
                using: &random)
        case .profile:
            if random.number(below: 2) == 0 { report.tags = [pick(["red", "blue"], &random)] }
            if random.number(below: 3) == 0 { report.locale = pick(["de", "en"], &random) }
            if random.number(below: 4) == 0 { report.timeZone = pick(["UTC", "Asia/Tokyo"], &random) }
            if random.number(below: 4) == 0 {
                report.attributes = try? RawJSON(
                    checking: Array(pick(["{\"a\":1}", "{}"], &random).utf8), with: JSONReader())
            }
        case .heartbeat, .tap, .erase, .deadToken, .provenToken, .tokenTakenOver: break
        }
    }

    /// Adds the activity to a report about one, and sometimes its type and its group.
    private static func addActivity(to report: inout Report, using random: inout SeededGenerator) {
        let isAboutActivity =
            [.updateToken, .state, .tap].contains(report.kind)
            || report.kind == .heartbeat && random.number(below: 2) == 0
        guard isAboutActivity else { return }
        report.activity = pick(activities, &random)
        if random.number(below: 2) == 0 { report.attributesType = pick(["Match", "Order"], &random) }
        if random.number(below: 2) == 0 { report.group = pick(["m1", "m2"], &random) }
    }

    /// Adds some of the fields that every report of a phone may have.
    private static func addPhoneFields(to report: inout Report, using random: inout SeededGenerator) {
        if random.number(below: 4) == 0 { report.user = pick(users, &random) }
        if report.user == nil, random.number(below: 10) == 0 { report.isLoggedOut = true }
        if random.number(below: 4) == 0 { report.os = pick(["17.2", "18.0"], &random) }
        if random.number(below: 6) == 0 { report.appBuild = pick(["7", "8"], &random) }
        if random.number(below: 6) == 0 { report.frequentPushesEnabled = random.number(below: 2) == 0 }
        if random.number(below: 6) == 0 { report.activitiesEnabled = random.number(below: 2) == 0 }
    }

    private static func pick<T>(_ values: [T], _ random: inout SeededGenerator) -> T {
        values[random.number(below: values.count)]
    }
}
