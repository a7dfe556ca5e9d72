internal import CatalogRecords
internal import Identifiers
package import InstallationRecords
internal import Simulation

/// Reports of the phones of one app, from a seed: new and repeated tokens, activities that start and end, and
/// people who log in and out.
package struct ReportGenerator {
    /// The percentages of the kinds of reports, for the output of a benchmark. `next()` draws them.
    package static let shares =
        "40 start tokens (3 of 4 repeated), 25 update tokens, 10 states, 8 profiles, 7 heartbeats, 4 taps, 3 lists of running activities, 3 unregistered"
    package static let groups = 50
    package let installations: Int
    private var random: SeededGenerator
    private let seed: UInt64

    package init(installations: Int, seed: UInt64) {
        self.installations = installations
        self.seed = seed
        random = SeededGenerator(seed: seed)
    }

    /// Returns the next report.
    package mutating func next() -> Report {
        let number = random.number(below: installations)
        let id = "phone-\(number)"
        let percentile = random.number(below: 100)
        func makeReport(ofKind kind: Report.Kind) -> Report {
            var report = Report(app: TestBed.app.id, environment: .production, installation: id, kind: kind)
            report.os = "18.2"
            report.appBuild = "412"
            return report
        }
        switch percentile {
        case 0..<40:
            let isMatch = percentile < 30
            var report = makeReport(ofKind: .startToken)
            report.attributesType = isMatch ? "MatchAttributes" : "OrderAttributes"
            // The version is 0 in three cases of four, so that most reports repeat a token.
            report.token = token(
                ofInstallation: number, kind: isMatch ? 1 : 2, version: random.number(below: 4) / 3)
            report.frequentPushesEnabled = true
            return report
        case 40..<65:
            var report = makeReport(ofKind: .updateToken)
            report.attributesType = "MatchAttributes"
            let activity = random.number(below: 3)
            report.activity = "activity-\(number)-\(activity)"
            report.group = "match-\(random.number(below: Self.groups))"
            report.token = token(ofInstallation: number, kind: 3 + activity, version: random.number(below: 2))
            return report
        case 65..<75:
            var report = makeReport(ofKind: .state)
            report.activity = "activity-\(number)-\(random.number(below: 3))"
            report.state = [.active, .stale, .ended, .dismissed][random.number(below: 4)]
            return report
        case 75..<83:
            var report = makeReport(ofKind: .profile)
            report.tags = ["team-\(random.number(below: 20))"]
            if random.number(below: 3) == 0 { report.user = "user-\(random.number(below: installations))" }
            report.isLoggedOut = report.user == nil && random.number(below: 3) == 0
            return report
        case 83..<90: return makeReport(ofKind: .heartbeat)
        case 90..<94:
            var report = makeReport(ofKind: .tap)
            report.activity = "activity-\(number)-\(random.number(below: 3))"
            return report
        case 94..<97:
            var report = makeReport(ofKind: .reconcile)
            report.runningActivities = ["activity-\(number)-\(random.number(below: 3))"]
            return report
        default:
            var report = makeReport(ofKind: .unregister)
            report.attributesType = "OrderAttributes"
            return report
        }
    }

    /// Returns a token of 32 bytes in hexadecimal digits, which is equal for equal arguments.
    private func token(ofInstallation installation: Int, kind: Int, version: Int) -> String {
        var bytes = SeededGenerator(
            seed: seed ^ UInt64(installation) << 16 ^ UInt64(kind) << 8 ^ UInt64(version))
        return String(decoding: Hex.encode(bytes.bytes(count: 32...32)), as: UTF8.self)
    }
}
