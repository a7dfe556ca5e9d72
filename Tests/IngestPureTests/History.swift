import CatalogRecords
import Identifiers
import InstallationRecords
import JSON
import Simulation
import TokenSealing

/// A report, the server's time on its record, and the offset at which it was first stored.
struct Received {
    var report: Report
    var at: Int64
    var offset: Int64 = 0
}

/// The reports of an app's phones, backend and senders within two days: rotations, logins, refusals,
/// contradictions, wrong clocks, and late reports.
struct History {
    static let start: Int64 = 1_763_000_000_000
    static let hour: Int64 = 3_600_000
    /// At most the longest delay of a report. So nothing is forgotten that a late report could still
    /// contradict.
    static let length = 47 * hour

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

    private(set) var list: [Received] = []
    let end: Int64

    init(_ random: inout SeededGenerator) {
        // Two days or a few minutes. Within one write interval no write happens by chance.
        let longest = [Self.length, Self.hour, Self.hour / 10][random.number(below: 3)]
        let length = longest / 2 + Int64(random.number(below: Int(longest / 2)))
        end = Self.start + length
        let seal = TokenSeal(keys: nil)
        for _ in 0..<(1 + random.number(below: 14)) {
            // Only a few different times, because ties are the likeliest place for wrong orders.
            let at = Self.start + Int64(random.number(below: 24)) * (length / 24)
            var report = Self.report(&random, at: at, seal)
            switch random.number(below: 6) {
            case 0: report.eventTime = at - Int64(random.number(below: Int(3 * Self.hour)))
            case 1: report.eventTime = at - Int64(random.number(below: 100)) * Self.hour
            case 2: report.eventTime = at + Int64(random.number(below: 1000)) * Self.hour
            case 3: report.eventTime = Self.start + Int64(random.number(below: 24)) * (length / 24)
            default: break
            }
            list.append(Received(report: report, at: at))
        }
        giveOrder(&random)
    }

    /// Gives some reports a sequence within a request body, and all of them an offset. Both are independent
    /// of the times, so that only the rules decide which report is the last.
    private mutating func giveOrder(_ random: inout SeededGenerator) {
        let share = random.number(below: 3)
        for (offset, index) in list.indices.shuffled(using: &random).enumerated() {
            list[index].offset = Int64(offset)
            if random.number(below: 2) < share { list[index].report.bodyPosition = random.number(below: 3) }
        }
    }

    private static func report(
        _ random: inout SeededGenerator, at: Int64, _ seal: TokenSeal
    ) -> Report {
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
        let kinds: [Report.Kind] = [
            .startToken, .startToken, .updateToken, .updateToken, .state, .unregister, .heartbeat, .reconcile,
            .profile, .tap, .deadToken,
        ]
        var report = Report(
            app: app.id, environment: random.number(below: 8) == 0 ? .sandbox : .production,
            installation: "i",
            kind: pick(kinds, &random))
        switch report.kind {
        case .deadToken:
            let token = PushToken(hex: pick(tokens, &random))!
            report.refusal = .init(
                tokenHash: String(decoding: Hex.encode(seal.hash(of: token)), as: UTF8.self), entry: "start:",
                reason: "Unregistered",
                invalidatedAt: random.number(below: 3) == 0
                    ? nil : at - Int64(random.number(below: 30)) * hour,
                dispatchedAt: at - Int64(random.number(below: 3)) * hour)
            return report
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
        case .heartbeat, .tap, .erase, .provenToken: break
        }
        let isAboutActivity = [.updateToken, .state, .tap].contains(report.kind)
        if isAboutActivity || (report.kind == .heartbeat && random.number(below: 2) == 0) {
            report.activity = pick(activities, &random)
            if random.number(below: 2) == 0 { report.attributesType = pick(["Match", "Order"], &random) }
            if random.number(below: 2) == 0 { report.group = pick(["m1", "m2"], &random) }
        }
        if random.number(below: 4) == 0 { report.user = pick(users, &random) }
        if report.user == nil, random.number(below: 10) == 0 { report.isLoggedOut = true }
        if random.number(below: 4) == 0 { report.os = pick(["17.2", "18.0"], &random) }
        if random.number(below: 6) == 0 { report.appBuild = pick(["7", "8"], &random) }
        if random.number(below: 6) == 0 { report.frequentPushesEnabled = random.number(below: 2) == 0 }
        if random.number(below: 6) == 0 { report.activitiesEnabled = random.number(below: 2) == 0 }
        return report
    }

    private static func pick<T>(_ from: [T], _ random: inout SeededGenerator) -> T {
        from[random.number(below: from.count)]
    }
}
